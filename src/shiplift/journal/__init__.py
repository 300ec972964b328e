"""The journal: what happened to nodes and workloads while they were upgraded, kept in the operator's
namespace."""
