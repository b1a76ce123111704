/** What sessions call: statements on `pg_catalog` and `information_schema`, and their results. */
import type { CatalogueSnapshot } from '../../query/index.ts'

export interface Catalogue {
  /** Columns and parameter types, for Describe. A parameter type 0 is not declared. */
  describe(
    text: string,
    parameterTypes: readonly number[],
    caller: CatalogueCaller,
    signal?: AbortSignal,
  ): Promise<CatalogueDescription>
  /** Parameters are in PostgreSQL's text form. */
  run(
    text: string,
    parameters: readonly (string | null)[],
    caller: CatalogueCaller,
    signal: AbortSignal,
    parameterTypes?: readonly number[],
  ): Promise<CatalogueResult>
  close(): Promise<void>
}

export interface CatalogueCaller {
  readonly scopes: ReadonlySet<string>
  readonly user: string
  /** With whom it shares its turns: names are not enough, as one caller has several. */
  readonly owner: string
  readonly snapshot: CatalogueSnapshot
  /** Of its connection. */
  readonly processId: number
  /** What pg_cancel_backend does. */
  readonly cancelBackend: (processId: number) => Promise<boolean>
}

export interface CatalogueColumn {
  readonly name: string
  /** The OID of its type. */
  readonly type: number
  readonly modifier: number
}

export interface CatalogueDescription {
  readonly columns: readonly CatalogueColumn[]
  /** OIDs, in the order of the parameters. */
  readonly parameters: readonly number[]
}

export interface CatalogueResult {
  readonly columns: readonly CatalogueColumn[]
  /** In PostgreSQL's text form. */
  readonly rows: readonly (readonly (string | null)[])[]
}
