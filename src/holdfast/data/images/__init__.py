"""Image files: headers, EXIF orientation, embedded images, thumbnails, rules for a usable image."""
