package main

import (
	"io"
	"os"
)

// lifelineVariable asks a component to end as soon as its standard input does.
const lifelineVariable = "CONTROLPLANE_LIFELINE"

// holdLifeline ends this process when whoever started it is gone, however it went: the kernel
// closes the other end of the pipe even after SIGKILL. PR_SET_PDEATHSIG would not do, because it
// fires when the parent's *thread* ends, and tests start components from worker threads.
func holdLifeline() {
	if os.Getenv(lifelineVariable) == "" {
		return
	}
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		os.Exit(137)
	}()
}
