/** What the callers of live statements have of covered tables: while a statement reads these, their places are held. */
import type { Principal, Refusal, TableNeed } from 'gatehouse-protocol'
import type { FollowedTables, TableAccess, TableLicences, TableRights } from '../catalogue/licences.ts'
import { PlanPending } from '../plan/long-plans.ts'

export interface LicensedReader {
  readonly principal: Principal
  readonly request: { readonly address: string; readonly kind?: 'live' | 'alert' }
}

export interface LicenceWatchOptions<Reader> {
  readonly licences: TableLicences
  /** Called when a reader may see more, or less, than before. */
  readonly onChanged: (reader: Reader) => void
}

export class LicenceWatch<Reader extends LicensedReader> {
  readonly #options: LicenceWatchOptions<Reader>
  readonly #followed = new Map<Reader, FollowedTables>()

  constructor(options: LicenceWatchOptions<Reader>) {
    this.#options = options
  }

  /** To plan with. Undefined where no product covers a table. */
  rights(reader: Reader): TableRights | undefined {
    if (this.#options.licences.version === 0) return undefined
    return { find: (table) => this.#find(reader, table) }
  }

  /** Takes the places for what a plan uses. Undefined: they are held. A Promise: when it has resolved, another plan is made with what is. */
  hold(reader: Reader, needs: readonly TableNeed[]): Promise<void> | undefined {
    return needs.length === 0 ? undefined : this.#follow(reader).hold(needs)
  }

  /** Why there is no access to one of the tables, where there is none at all. */
  refusalFor(reader: Reader, needs: readonly TableNeed[]): Refusal | undefined {
    const followed = this.#followed.get(reader)
    for (const { table } of needs) {
      const refusal = followed?.refusalFor(table)
      if (refusal !== undefined) return refusal
    }
    return undefined
  }

  /** Undefined: this node knows what the reader may see. Otherwise resolves when it does. */
  catchUp(reader: Reader): Promise<void> | undefined {
    return this.#followed.get(reader)?.catchUp()
  }

  setPrincipal(reader: Reader, principal: Principal): void {
    this.#followed.get(reader)?.setPrincipal(principal)
  }

  forget(reader: Reader): void {
    this.#followed.get(reader)?.close()
    this.#followed.delete(reader)
  }

  #find(reader: Reader, table: string): TableAccess | undefined {
    if (this.#options.licences.covers(table) === undefined) return undefined
    const access = this.#follow(reader).find(table)
    if (access instanceof Promise) throw new PlanPending(access)
    return access
  }

  #follow(reader: Reader): FollowedTables {
    const { licences, onChanged } = this.#options
    const known = this.#followed.get(reader)
    if (known !== undefined) return known
    const { principal, request } = reader
    // The alerts of an owner are one place, which displaces none where the owner is: nobody signs in for them.
    const isAlert = request.kind === 'alert'
    const address = isAlert ? 'alerts' : request.address
    const caller = { principal, address, way: 'live', mayDisplace: !isAlert } as const
    const followed = licences.follow(caller, () => onChanged(reader))
    this.#followed.set(reader, followed)
    return followed
  }
}
