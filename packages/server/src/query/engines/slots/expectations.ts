/** Predicts long work from what the same owner has run in the last seconds, so that no owner makes others wait. */
import { RecentKeys } from '../../../lib/recent-keys.ts'

/** The milliseconds that the work itself has taken so far, where this is known. */
export type OwnTime = () => number | undefined

export interface ExpectedWork {
  readonly request: { readonly owner: string }
  /** The statement together with its owner; work without a statement is expected to be short. */
  readonly key: string | undefined
  /** `long` is the number of slots that the owner holds for long work. */
  readonly owner: { readonly long: number } | undefined
}

export class Expectations {
  /** Owners of preempted work. */
  readonly #owners = new RecentKeys()
  /** Statements of an owner that were short. */
  readonly #short = new RecentKeys()
  /** Owners with a statement that was sometimes short and sometimes long, depending on its parameters. */
  readonly #unpredictable = new RecentKeys()

  isLong({ request, key, owner }: ExpectedWork): boolean {
    if (key === undefined) return false
    if (this.#unpredictable.has(request.owner)) return true
    return ((owner?.long ?? 0) > 0 || this.#owners.has(request.owner)) && !this.#short.has(key)
  }

  wasPreempted({ request, key }: ExpectedWork): void {
    if (key === undefined) return
    this.#owners.add(request.owner)
    if (this.#short.has(key)) this.#unpredictable.add(request.owner)
    this.#short.delete(key)
  }

  wasShort({ key }: ExpectedWork): void {
    if (key !== undefined) this.#short.add(key)
  }
}
