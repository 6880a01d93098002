"""Signs requests as botocore does, for vectors_test.go. Run with botocore 1.43:

python sign.py > ../vectors_test.go
"""
import datetime
import json
from unittest import mock

import botocore.auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials
from urllib.parse import quote

KEYS = ["test.txt", "a b.nc", "100%.nc", "a%20b.nc", "c#d?e=f&g+h.nc", "é/日本.nc", "//double", "x(1)*~'!.nc"]


class Unsigned(botocore.auth.S3SigV4Auth):
    """Signs like botocore for bodies that are sent over TLS with another checksum."""

    def payload(self, request):
        return "UNSIGNED-PAYLOAD"


def sign(key):
    url = "https://examplebucket.s3.us-east-1.amazonaws.com/" + quote(key, safe="/~-._")
    request = AWSRequest("GET", url, headers={"Range": "bytes=0-9"})
    credentials = Credentials("AKIAIOSFODNN7EXAMPLE", "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY")
    with mock.patch.object(botocore.auth, "get_current_datetime", lambda: datetime.datetime(2013, 5, 24)):
        Unsigned(credentials, "s3", "us-east-1").add_auth(request)
    return request.headers["Authorization"].split("Signature=")[1]


print("package s3\n\n// vectors are signatures of keys, by testdata/sign.py.\nvar vectors = map[string]string{")
for key in KEYS:
    print(f"\t{json.dumps(key, ensure_ascii=False)}: \"{sign(key)}\",")
print("}")
