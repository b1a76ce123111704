/** Limits the temporary files of running statements: the bytes of one statement, and of all statements of a user. */
import type { Refusal } from 'gatehouse-protocol'
import type { TempLimits } from '../../engine.ts'
import { tempFilesError } from '../../runtime-error.ts'

/** Fewer bytes than this share of the limit are not counted. */
const WORTH_COUNTING = 1 / 16

export class TempBudget {
  readonly limits: TempLimits
  readonly #accounts = new Map<string, Set<TempAccount>>()

  constructor(limits: TempLimits) {
    this.limits = limits
  }

  /** Opens an account for a statement that begins. `stop` ends the statement. The service itself, which has no name, has no limit. */
  open(owner: string | undefined, stop: (error: Refusal) => void): TempAccount {
    const accounts = this.#accounts.get(owner ?? '') ?? new Set()
    const { statement, user } = owner === undefined ? UNLIMITED : this.limits
    const account: TempAccount = {
      worthCounting: statement * WORTH_COUNTING,
      bytes: 0,
      stop,
      set(bytes) {
        account.bytes = bytes
        if (bytes > statement) return stop(tempFilesError(statement))
        const all = [...accounts]
        if (all.reduce((sum, one) => sum + one.bytes, 0) <= user) return
        all.reduce((a, b) => (b.bytes > a.bytes ? b : a)).stop(tempFilesError(user, 'query_temp_bytes_per_user'))
      },
      close: () => {
        accounts.delete(account)
        if (accounts.size === 0) this.#accounts.delete(owner ?? '')
      },
    }
    accounts.add(account)
    this.#accounts.set(owner ?? '', accounts)
    return account
  }
}

const UNLIMITED: TempLimits = { statement: Number.POSITIVE_INFINITY, user: Number.POSITIVE_INFINITY }

export interface TempAccount {
  /** The bytes that it must have written before its files are measured. */
  readonly worthCounting: number
  bytes: number
  readonly stop: (error: Refusal) => void
  /** Stops the statement if it has too many, or the largest one of its user if they have too many together. */
  set(bytes: number): void
  close(): void
}
