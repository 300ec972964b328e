package main

import (
	"os"
	"strconv"
	"strings"
	"syscall"
)

// cpuSeconds is what this process has used since it was started, user and system.
func cpuSeconds() float64 {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		fatal(err)
	}
	return float64(usage.Utime.Nano()+usage.Stime.Nano()) / 1e9
}

// memory is the resident set in bytes: now, and at its highest since the last resetPeak.
func memory() (rss, peak int64) {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		fatal(err)
	}
	for line := range strings.SplitSeq(string(status), "\n") {
		fields := strings.Fields(line)
		if len(fields) != 3 {
			continue
		}
		kilobytes, _ := strconv.ParseInt(fields[1], 10, 64)
		switch fields[0] {
		case "VmRSS:":
			rss = kilobytes << 10
		case "VmHWM:":
			peak = kilobytes << 10
		}
	}
	return rss, peak
}

// resetPeak makes VmHWM start again from the present resident set.
func resetPeak() {
	if err := os.WriteFile("/proc/self/clear_refs", []byte("5"), 0); err != nil {
		fatal(err)
	}
}
