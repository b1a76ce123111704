/** Names of users and roles. */

/** Without control characters, and without a space at either end. */
export const NAME = /^[^\s\p{C}](?:[^\p{C}]*[^\s\p{C}])?$/u

export const LONGEST_NAME = 128
