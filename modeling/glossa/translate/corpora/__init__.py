"""Files of any size: translated in shards, or made into training pairs by a teacher."""
