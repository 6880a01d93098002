package main

import (
	"crypto/sha256"
	"debug/buildinfo"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"
	"time"
)

// The part of SPDX 2.3 that describes a binary and its modules: https://spdx.github.io/spdx-spec/v2.3/
type spdxDocument struct {
	SPDXVersion   string             `json:"spdxVersion"`
	DataLicense   string             `json:"dataLicense"`
	SPDXID        string             `json:"SPDXID"`
	Name          string             `json:"name"`
	Namespace     string             `json:"documentNamespace"`
	Creation      spdxCreation       `json:"creationInfo"`
	Packages      []spdxPackage      `json:"packages"`
	Relationships []spdxRelationship `json:"relationships"`
}

type spdxCreation struct {
	Created  string   `json:"created"`
	Creators []string `json:"creators"`
}

type spdxPackage struct {
	Name             string          `json:"name"`
	SPDXID           string          `json:"SPDXID"`
	Version          string          `json:"versionInfo"`
	FileName         string          `json:"packageFileName,omitempty"`
	DownloadLocation string          `json:"downloadLocation"`
	FilesAnalyzed    bool            `json:"filesAnalyzed"`
	LicenseConcluded string          `json:"licenseConcluded"`
	LicenseDeclared  string          `json:"licenseDeclared"`
	Copyright        string          `json:"copyrightText"`
	Checksums        []spdxChecksum  `json:"checksums,omitempty"`
	References       []spdxReference `json:"externalRefs,omitempty"`
	Comment          string          `json:"comment,omitempty"`
}

type spdxChecksum struct {
	Algorithm string `json:"algorithm"`
	Value     string `json:"checksumValue"`
}

type spdxReference struct {
	Category string `json:"referenceCategory"`
	Type     string `json:"referenceType"`
	Locator  string `json:"referenceLocator"`
}

type spdxRelationship struct {
	Element string `json:"spdxElementId"`
	Type    string `json:"relationshipType"`
	Related string `json:"relatedSpdxElement"`
}

const noAssertion = "NOASSERTION"

// sbom returns an SPDX document: the archive of a target, and the Go modules that Go recorded in its binary.
func sbom(i info, t target, archiveName string, archive []byte, binary string) ([]byte, error) {
	build, err := buildinfo.ReadFile(binary)
	if err != nil {
		return nil, err
	}
	name := fmt.Sprintf("varve-%s-%s-%s", i.version, t.os, t.arch)
	sum := sha256.Sum256(archive)
	product := newPackage("varve", "SPDXRef-varve", i.version)
	product.FileName, product.LicenseConcluded, product.LicenseDeclared = archiveName, "Apache-2.0", "Apache-2.0"
	product.Checksums = []spdxChecksum{{"SHA256", hex.EncodeToString(sum[:])}}
	doc := spdxDocument{
		SPDXVersion: "SPDX-2.3", DataLicense: "CC0-1.0", SPDXID: "SPDXRef-DOCUMENT", Name: name,
		Namespace: "https://spdx.org/spdxdocs/" + name + "-" + i.commit,
		Creation:  spdxCreation{i.time.UTC().Format(time.RFC3339), []string{"Tool: varve-cmd-release"}},
		Packages:  []spdxPackage{product},
		Relationships: []spdxRelationship{
			{"SPDXRef-DOCUMENT", "DESCRIBES", product.SPDXID},
		},
	}
	add := func(path, version, comment string) {
		p := newPackage(path, fmt.Sprintf("SPDXRef-module-%d", len(doc.Packages)), version)
		p.Comment = comment
		p.References = []spdxReference{{"PACKAGE-MANAGER", "purl", "pkg:golang/" + path + "@" + strings.ReplaceAll(version, "+", "%2B")}}
		doc.Packages = append(doc.Packages, p)
		doc.Relationships = append(doc.Relationships, spdxRelationship{product.SPDXID, "DEPENDS_ON", p.SPDXID})
	}
	add("stdlib", strings.TrimPrefix(build.GoVersion, "go"), "the standard library and runtime of Go")
	for _, m := range build.Deps {
		if m.Replace != nil {
			m = m.Replace
		}
		add(m.Path, m.Version, "go.sum: "+m.Sum)
	}
	text, err := json.MarshalIndent(doc, "", "  ")
	return append(text, '\n'), err
}

func newPackage(name, id, version string) spdxPackage {
	return spdxPackage{
		Name: name, SPDXID: id, Version: version,
		DownloadLocation: noAssertion, LicenseConcluded: noAssertion, LicenseDeclared: noAssertion, Copyright: noAssertion,
	}
}
