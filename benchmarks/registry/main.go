// What operator-registry and blang/semver say of catalogs and versions: a question a line, an answer a line, all JSON.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"sort"

	"github.com/blang/semver/v4"
	"github.com/operator-framework/operator-registry/alpha/declcfg"
	"github.com/operator-framework/operator-registry/alpha/model"
	"github.com/operator-framework/operator-registry/pkg/lib/config"
	"github.com/operator-framework/operator-registry/pkg/registry"
)

const longestLine = 64 << 20

type question struct {
	Ask       string    `json:"ask"`
	Text      string    `json:"text"`
	Versions  []string  `json:"versions"`
	Folder    string    `json:"folder"`
	SkipPatch bool      `json:"skipPatch"`
	Releases  []release `json:"releases"`
}

type release struct {
	Name     string `json:"name"`
	Version  string `json:"version"`
	Channels string `json:"channels"`
}

// channel holds the head (or why there is none), and for each bundle of the package what takes over from it.
type channel struct {
	Head       string              `json:"head"`
	Trouble    string              `json:"trouble"`
	Successors map[string][]string `json:"successors"`
}

type answer struct {
	Error    string                         `json:"error"`
	Order    []int                          `json:"order,omitempty"`
	Holds    []bool                         `json:"holds,omitempty"`
	Channels map[string]map[string]*channel `json:"channels,omitempty"`
	Replaces map[string]map[string][]string `json:"replaces,omitempty"`
}

func main() {
	if len(os.Args) == 3 && os.Args[1] == "validate" {
		if err := config.Validate(context.Background(), os.DirFS(os.Args[2])); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(nil, longestLine)
	out := json.NewEncoder(os.Stdout)
	for lines.Scan() {
		if err := out.Encode(answered(lines.Bytes())); err != nil {
			panic(err)
		}
	}
}

// answered never panics: a range with an empty alternative makes blang/semver do so.
func answered(line []byte) (said answer) {
	defer func() {
		if why := recover(); why != nil {
			said = answer{Error: fmt.Sprint(why)}
		}
	}()
	var asked question
	if err := json.Unmarshal(line, &asked); err != nil {
		return answer{Error: err.Error()}
	}
	switch asked.Ask {
	case "compare":
		return compared(asked)
	case "range":
		return ranged(asked)
	case "catalog":
		return catalog(asked)
	case "semver":
		return bySemver(asked)
	}
	return answer{Error: "unknown question " + asked.Ask}
}

func compared(asked question) answer {
	first, err := semver.Parse(asked.Text)
	if err != nil {
		return answer{Error: err.Error()}
	}
	said := answer{}
	for _, text := range asked.Versions {
		said.Order = append(said.Order, first.Compare(semver.MustParse(text)))
	}
	return said
}

func ranged(asked question) answer {
	holds, err := semver.ParseRange(asked.Text)
	if err != nil {
		return answer{Error: err.Error()}
	}
	said := answer{}
	for _, text := range asked.Versions {
		said.Holds = append(said.Holds, holds(semver.MustParse(text)))
	}
	return said
}

// catalog loads a folder, says whether it is valid, and who takes over from whom in it, valid or not.
func catalog(asked question) answer {
	loaded, err := declcfg.LoadFS(context.Background(), os.DirFS(asked.Folder))
	if err != nil {
		return answer{Error: err.Error()}
	}
	said := answer{Channels: map[string]map[string]*channel{}}
	if _, err := declcfg.ConvertToModel(*loaded); err != nil {
		said.Error = err.Error()
	}
	versions := map[string]map[string]semver.Version{}
	for _, bundle := range loaded.Bundles {
		if versions[bundle.Package] == nil {
			versions[bundle.Package] = map[string]semver.Version{}
		}
		versions[bundle.Package][bundle.Name] = versionOf(bundle)
	}
	for _, one := range loaded.Channels {
		if said.Channels[one.Package] == nil {
			said.Channels[one.Package] = map[string]*channel{}
		}
		said.Channels[one.Package][one.Name] = channelOf(one, versions[one.Package])
	}
	return said
}

func versionOf(bundle declcfg.Bundle) semver.Version {
	var named struct {
		Version string `json:"version"`
	}
	for _, property := range bundle.Properties {
		if property.Type == "olm.package" {
			if err := json.Unmarshal(property.Value, &named); err != nil {
				panic(err)
			}
		}
	}
	return semver.MustParse(named.Version)
}

func channelOf(given declcfg.Channel, versions map[string]semver.Version) *channel {
	bundles := map[string]*model.Bundle{}
	for _, entry := range given.Entries {
		bundles[entry.Name] = &model.Bundle{
			Name: entry.Name, Replaces: entry.Replaces, Skips: entry.Skips, SkipRange: entry.SkipRange,
		}
	}
	found := &channel{Successors: map[string][]string{}}
	head, err := model.Channel{Name: given.Name, Bundles: bundles}.Head()
	if err != nil {
		found.Trouble = err.Error()
	} else {
		found.Head = head.Name
	}
	for name, version := range versions {
		for _, entry := range given.Entries {
			if version.LT(versions[entry.Name]) && takesOver(entry, name, version) {
				found.Successors[name] = append(found.Successors[name], entry.Name)
			}
		}
		sort.Strings(found.Successors[name])
	}
	return found
}

func takesOver(entry declcfg.ChannelEntry, name string, version semver.Version) bool {
	if entry.Replaces == name {
		return true
	}
	for _, skipped := range entry.Skips {
		if skipped == name {
			return true
		}
	}
	return entry.SkipRange != "" && semver.MustParseRange(entry.SkipRange)(version)
}

// bySemver has registry's own loader add the releases one by one, and tells what replaces what.
func bySemver(asked question) answer {
	loader, graph := &registry.BundleGraphLoader{}, &registry.Package{}
	for _, one := range asked.Releases {
		bundle, err := registry.NewBundleFromStrings(one.Name, one.Version, "package", "", one.Channels, "")
		if err != nil {
			return answer{Error: err.Error()}
		}
		annotations := &registry.AnnotationsFile{Annotations: *bundle.Annotations}
		if graph, err = loader.AddBundleToGraph(bundle, graph, annotations, asked.SkipPatch); err != nil {
			return answer{Error: err.Error()}
		}
	}
	said := answer{Replaces: map[string]map[string][]string{}}
	for name, one := range graph.Channels {
		said.Replaces[name] = map[string][]string{}
		for node, replaced := range one.Nodes {
			names := []string{}
			for key := range replaced {
				names = append(names, key.CsvName)
			}
			sort.Strings(names)
			said.Replaces[name][node.CsvName] = names
		}
	}
	return said
}
