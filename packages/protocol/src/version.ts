/** The version of this program. A test compares all places that contain it. */
export const VERSION = '1.0.0'
