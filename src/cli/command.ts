/** What a command is, and what its caller did wrong. */
export interface Command {
  readonly name: string
  /** What stands after the name, for example `USERNAME [--role ROLE]`. */
  readonly usage: string
  readonly summary: string
  /** Options and examples, shown by --help. */
  readonly help: string
  /** Loaded only when called, so that a start pays for nothing else. */
  load(): Promise<(args: readonly string[]) => Promise<void>>
}

/** The command line itself is wrong: exit status 2. */
export class Usage extends Error {
  override name = 'Usage'
}
