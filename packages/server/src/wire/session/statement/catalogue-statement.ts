/** Statements on the catalogue in a session: described and run in the process of the catalogue, listed and cancelled as others are. */
import { inTurns } from '../../../lib/turns.ts'
import type { Catalogue, CatalogueCaller, CatalogueColumn, CatalogueDescription } from '../../catalogue/contract.ts'
import type { BindMessage } from '../../protocol/messages.ts'
import { parameterText } from '../../types/catalogue-values.ts'
import type { SessionCaller } from '../contract.ts'
import type { SessionEnv } from '../env.ts'
import { outcomeOf, WireError } from '../failure.ts'
import type { Execution } from '../portal/execution.ts'
import { catalogueRows } from '../rows/catalogue-rows.ts'
import { PortalRows } from '../rows/row-stream.ts'
import type { Runner } from '../runner.ts'
import { type CatalogueStatement, isCounted, MOST_DESCRIBED } from './prepared-statement.ts'

export type BoundValues = Pick<BindMessage, 'parameterFormats' | 'values' | 'resultFormats'>

export class CatalogueStatements {
  readonly #env: SessionEnv
  readonly #caller: SessionCaller
  readonly #runner: Runner

  constructor(env: SessionEnv, caller: SessionCaller, runner: Runner) {
    this.#env = env
    this.#caller = caller
    this.#runner = runner
  }

  /** Counted as a statement. */
  async describe(prepared: CatalogueStatement): Promise<CatalogueDescription> {
    if (prepared.description !== undefined) return prepared.description
    this.#runner.admit(isCounted(prepared))
    const execution = this.#runner.begin(prepared.text)
    try {
      const act = (signal: AbortSignal) => this.#describe(prepared, signal)
      const description = await this.#runner.whileRunning(execution, act)
      this.#runner.finish(execution, 'ok', 0)
      return description
    } catch (error) {
      this.#runner.finish(execution, outcomeOf(error), 0)
      throw error
    }
  }

  /** The execution holds the rows; the result tells their columns and their number. */
  run(
    prepared: CatalogueStatement,
    message: BoundValues,
    execution: Execution,
  ): Promise<{ readonly columns: readonly CatalogueColumn[]; readonly rows: number }> {
    return this.#runner.whileRunning(execution, async (signal) => {
      const { text, declared } = prepared
      const values = await this.#textsOf(message, prepared, signal)
      const { columns, rows } = await this.#catalogue.run(text, values, this.#catalogueCaller, signal, declared)
      const encoded = await inTurns(catalogueRows(rows, columns, message.resultFormats))
      signal.throwIfAborted()
      this.#runner.hold(execution, new PortalRows(encoded, undefined))
      return { columns, rows: rows.length }
    })
  }

  async #describe(prepared: CatalogueStatement, signal: AbortSignal): Promise<CatalogueDescription> {
    if (prepared.description !== undefined) return prepared.description
    const { text, declared } = prepared
    const description = await this.#catalogue.describe(text, declared, this.#catalogueCaller, signal)
    if (description.columns.length + description.parameters.length <= MOST_DESCRIBED) prepared.description = description
    return description
  }

  /** What the bytes of binary values mean is known from the description. */
  async #textsOf(
    { values, parameterFormats }: BoundValues,
    prepared: CatalogueStatement,
    signal: AbortSignal,
  ): Promise<(string | null)[]> {
    const isBinary = parameterFormats.includes(1)
    const types = isBinary ? (await this.#describe(prepared, signal)).parameters : prepared.declared
    return values.map((value, index) => {
      const format = parameterFormats.length === 1 ? parameterFormats[0] : parameterFormats[index]
      return value && parameterText(value, format === 1, types[index] ?? 0)
    })
  }

  get #catalogue(): Catalogue {
    const { systemCatalogue } = this.#env
    if (systemCatalogue === undefined) throw new WireError('0A000', 'The catalogue is not available')
    return systemCatalogue
  }

  get #catalogueCaller(): CatalogueCaller {
    const { scopes, subject, username, clientId } = this.#caller.principal
    // As current_user is in IQL: "token" and "oauth" are not the names of anybody.
    const user = username ?? clientId
    const { processId, cancelBackend } = this.#caller
    return { scopes, user, owner: subject, snapshot: this.#env.catalogue.snapshot, processId, cancelBackend }
  }
}
