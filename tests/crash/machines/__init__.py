"""`shiplift bootstrap` under the crash harness: every command over SSH is counted, and interrupted."""
