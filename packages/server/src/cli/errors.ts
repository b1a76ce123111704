/** Failures that a command reports in one line instead of a stack trace. */

/** The command line itself is wrong: exit status 2. */
export class UsageError extends Error {
  override name = 'UsageError'
}

/** The command could not do its work: exit status 1. */
export class CommandError extends Error {
  override name = 'CommandError'
}
