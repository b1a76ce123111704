/** A request refused because of the caller; the pipeline turns it into a response in one place. */

const IS_REFUSAL = Symbol.for('gatehouse.Refusal')

export class Refusal extends Error {
  /** A custom controller imports this class from another file than a server that runs from its bundle. */
  static override [Symbol.hasInstance](value: unknown): value is Refusal {
    return typeof value === 'object' && value !== null && Object.hasOwn(value, IS_REFUSAL)
  }

  readonly [IS_REFUSAL] = true
  readonly code: string
  readonly status: number
  readonly details: RefusalDetails

  constructor(code: string, status: number, publicText: string, details: RefusalDetails = {}) {
    super(publicText, details.cause === undefined ? undefined : { cause: details.cause })
    this.name = 'Refusal'
    this.code = code
    this.status = status
    this.details = details
  }
}

export interface RefusalDetails {
  /** For the log only. */
  readonly cause?: unknown
  readonly headers?: Readonly<Record<string, string>>
  /** Further members of the response, such as Position, Expected and Hint. */
  readonly members?: Readonly<Record<string, unknown>>
}
