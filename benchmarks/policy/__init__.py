"""The benchmark `policy`: how soon what the provider says is on the cluster, and what an outage costs."""
