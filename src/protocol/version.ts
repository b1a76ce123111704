/** The version of this program; the package file says the same (a test holds them together). */
export const VERSION = '0.1.0'
