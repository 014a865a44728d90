"""Augmentation of training pairs, as functions of a pair and a random generator."""
