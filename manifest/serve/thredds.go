package serve

import (
	"bytes"
	"encoding/xml"
	"net/http"
)

// threddsName is the catalogue that clients of THREDDS servers read.
const threddsName = "catalog.xml"

// A THREDDS catalogue: https://docs.unidata.ucar.edu/tds/current/userguide/basic_client_catalog.html.
type threddsCatalog struct {
	XMLName xml.Name       `xml:"http://www.unidata.ucar.edu/namespaces/thredds/InvCatalog/v1.0 catalog"`
	Name    string         `xml:"name,attr"`
	Version string         `xml:"version,attr"`
	Service threddsService `xml:"service"`
	All     threddsDataset `xml:"dataset"`
}

type threddsService struct {
	Name     string           `xml:"name,attr"`
	Type     string           `xml:"serviceType,attr"`
	Base     string           `xml:"base,attr"`
	Services []threddsService `xml:"service"`
}

type threddsDataset struct {
	Name     string           `xml:"name,attr"`
	ID       string           `xml:"ID,attr,omitempty"`
	Path     string           `xml:"urlPath,attr,omitempty"`
	Metadata *threddsMetadata `xml:"metadata"`
	Datasets []threddsDataset `xml:"dataset"`
}

// threddsMetadata is what the datasets in a dataset have in common.
type threddsMetadata struct {
	Inherited bool   `xml:"inherited,attr"`
	Service   string `xml:"serviceName"`
	Type      string `xml:"dataType"`
}

// serveThredds answers with a catalogue of all manifests.
func (h *Handler) serveThredds(w http.ResponseWriter, r *http.Request) {
	base := escapePath(h.base) + dapName + "/"
	c := threddsCatalog{Name: "varve", Version: "1.2", Service: threddsService{Name: "all", Type: "Compound", Services: []threddsService{
		{Name: "odap", Type: "OPENDAP", Base: base}, {Name: "dap4", Type: "DAP4", Base: base}}},
		All: threddsDataset{Name: "varve", Metadata: &threddsMetadata{Inherited: true, Service: "all", Type: "Grid"}}}
	for _, p := range h.places {
		name := p.datasetName()
		c.All.Datasets = append(c.All.Datasets, threddsDataset{Name: name, ID: name, Path: escape(name)})
	}
	var b bytes.Buffer
	b.WriteString(xml.Header)
	if err := xml.NewEncoder(&b).Encode(c); err != nil {
		fail(w, r, err)
		return
	}
	w.Header().Set("Content-Type", "application/xml")
	serveBytes(w, r, body{b.Bytes(), tagOf("thredds", b.Bytes())})
}
