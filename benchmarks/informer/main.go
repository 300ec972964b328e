// Informer is the yardstick of the sync benchmark: client-go's shared informers over pods and nodes.
//
// Usage: informer default|tuned KUBECONFIG. It syncs, prints one JSON line, and then answers one JSON
// line for each line on its standard input (the same protocol as benchmarks/ours.py):
//
//	report           CPU and memory as they are now
//	mark             reset the counters: CPU, events, peak memory
//	until PODS NODES wait until both resource versions were seen, then report since the mark
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strconv"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/clientcmd"
)

// seen counts what the event handlers of one kind were told.
type seen struct {
	events  atomic.Int64
	version atomic.Int64
}

func (s *seen) note(object any) {
	s.events.Add(1)
	accessor, err := meta.Accessor(object)
	if err != nil {
		return
	}
	version, err := strconv.ParseInt(accessor.GetResourceVersion(), 10, 64)
	if err == nil && version > s.version.Load() {
		s.version.Store(version)
	}
}

func (s *seen) handler() cache.ResourceEventHandler {
	return cache.ResourceEventHandlerFuncs{
		AddFunc:    s.note,
		UpdateFunc: func(_, object any) { s.note(object) },
		DeleteFunc: func(any) { s.events.Add(1) },
	}
}

type program struct {
	pods, nodes         seen
	podStore, nodeStore cache.Store
	wall                float64
	cpuMark             float64
	eventsMark          int64
}

func main() {
	if len(os.Args) != 3 || (os.Args[1] != "default" && os.Args[1] != "tuned") {
		fatal(fmt.Errorf("usage: informer default|tuned KUBECONFIG"))
	}
	client, err := connect(os.Args[2])
	if err != nil {
		fatal(err)
	}
	p := &program{}
	if err := p.sync(client, os.Args[1] == "tuned"); err != nil {
		fatal(err)
	}
	p.print("synced")
	p.serve()
}

func fatal(err error) {
	fmt.Fprintln(os.Stderr, "informer:", err)
	os.Exit(1)
}

func connect(kubeconfig string) (kubernetes.Interface, error) {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return nil, err
	}
	config.ContentType = runtime.ContentTypeProtobuf
	config.AcceptContentTypes = runtime.ContentTypeProtobuf + "," + runtime.ContentTypeJSON
	rest.SetDefaultWarningHandler(rest.NoWarnings{})
	return kubernetes.NewForConfig(config)
}

// sync starts both informers and returns once both have synced.
func (p *program) sync(client kubernetes.Interface, tuned bool) error {
	var options []informers.SharedInformerOption
	if tuned {
		options = append(options, informers.WithTransform(keepWhatShipliftReads))
	}
	factory := informers.NewSharedInformerFactoryWithOptions(client, 0, options...)
	pods := factory.Core().V1().Pods().Informer()
	nodes := factory.Core().V1().Nodes().Informer()
	if tuned {
		if err := pods.AddIndexers(cache.Indexers{"node": byNode, "owner": byOwner}); err != nil {
			return err
		}
	}
	if _, err := pods.AddEventHandler(p.pods.handler()); err != nil {
		return err
	}
	if _, err := nodes.AddEventHandler(p.nodes.handler()); err != nil {
		return err
	}
	p.podStore, p.nodeStore = pods.GetStore(), nodes.GetStore()
	begin := time.Now()
	p.cpuMark = cpuSeconds()
	ctx := context.Background()
	factory.StartWithContext(ctx)
	if !cache.WaitFor(ctx, "", pods.HasSyncedChecker(), nodes.HasSyncedChecker()) {
		return fmt.Errorf("the caches did not sync")
	}
	p.wall = time.Since(begin).Seconds()
	return nil
}

func byNode(object any) ([]string, error) {
	return []string{object.(*corev1.Pod).Spec.NodeName}, nil
}

func byOwner(object any) ([]string, error) {
	var uids []string
	for _, owner := range object.(*corev1.Pod).OwnerReferences {
		uids = append(uids, string(owner.UID))
	}
	return uids, nil
}

// serve answers the lines of standard input until it ends.
func (p *program) serve() {
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		var word string
		var pods, nodes int64
		fmt.Sscan(lines.Text(), &word, &pods, &nodes)
		switch word {
		case "mark":
			p.mark()
		case "until":
			p.await(pods, nodes)
		}
		p.print(word)
	}
}

func (p *program) mark() {
	resetPeak()
	p.cpuMark = cpuSeconds()
	p.eventsMark = p.events()
}

func (p *program) await(pods, nodes int64) {
	for p.pods.version.Load() < pods || p.nodes.version.Load() < nodes {
		time.Sleep(20 * time.Millisecond)
	}
}

func (p *program) events() int64 { return p.pods.events.Load() + p.nodes.events.Load() }

func (p *program) print(event string) {
	rss, peak := memory()
	_ = json.NewEncoder(os.Stdout).Encode(map[string]any{
		"event":  event,
		"wall":   p.wall,
		"cpu":    cpuSeconds() - p.cpuMark,
		"rss":    rss,
		"peak":   peak,
		"events": p.events() - p.eventsMark,
		"pods":   len(p.podStore.ListKeys()),
		"nodes":  len(p.nodeStore.ListKeys()),
	})
}
