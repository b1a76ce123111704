/** What a call plans its statements with: the rights of its caller, and the tables of this moment. */
import type { Principal } from 'gatehouse-protocol'
import { type CatalogueSnapshot, viewFor } from '../catalogue/snapshot.ts'
import type { BuiltStatement, Planned } from '../plan/planner.ts'
import { callOwner, type ExecutionEnv } from './call.ts'

export class Planning {
  readonly #principal: Principal
  readonly #env: Pick<ExecutionEnv, 'planner' | 'catalogue'>

  constructor(principal: Principal, env: Pick<ExecutionEnv, 'planner' | 'catalogue'>) {
    this.#principal = principal
    this.#env = env
  }

  /** The tables that the caller can see. */
  get view(): ReturnType<typeof viewFor> {
    return viewFor(this.snapshot, this.#principal.scopes)
  }

  get snapshot(): CatalogueSnapshot {
    return this.#env.catalogue.snapshot
  }

  /** `text` is empty for a built statement. Throws a PlanPending while the plan of a long statement is being made. */
  plan(text: string, built?: BuiltStatement): Planned {
    return this.#env.planner.planInTurns(callOwner(this.#principal), this.#principal, this.snapshot, text, built)
  }

  /** Also a long statement. */
  planAtOnce(text: string, built?: BuiltStatement): Planned {
    return this.#env.planner.plan(this.#principal, this.snapshot, text, built)
  }
}
