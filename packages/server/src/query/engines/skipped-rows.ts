/** How many rows that a bulk insert has left out are listed in its reply. The others are only counted. */
export const MAX_SKIPPED_ROWS = 100_000
