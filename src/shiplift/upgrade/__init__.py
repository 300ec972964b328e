"""The conductor: one UpgradeConfig, in order, through the objects of the other layers."""
