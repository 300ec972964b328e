"""Whether a CustomResourceDefinition can be changed without losing or hurting what is stored of it."""
