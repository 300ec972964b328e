// Holds the namespaces of a pod while its containers come and go, and takes in the processes that they leave.
package main

import (
	"fmt"
	"os"
	"os/signal"
	"syscall"
)

func main() {
	// kubeadm asks for the version in a Job before an upgrade, and waits for it to complete
	if len(os.Args) > 1 && os.Args[1] == "-v" {
		fmt.Println("pause")
		return
	}
	signals := make(chan os.Signal, 16)
	signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM, syscall.SIGCHLD)
	for received := range signals {
		if received != syscall.SIGCHLD {
			return
		}
		reap()
	}
}

func reap() {
	for {
		pid, err := syscall.Wait4(-1, nil, syscall.WNOHANG, nil)
		if pid <= 0 || err != nil {
			return
		}
	}
}
