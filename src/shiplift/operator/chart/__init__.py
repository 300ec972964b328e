"""The Helm chart, made of what `shiplift manifests` prints: `python -m shiplift.operator.chart FOLDER`."""
