"""A trained model in the formats of other programs: CTranslate2, ONNX, transformers.js, Argos, other model classes."""
