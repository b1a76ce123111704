/** Views in the declarative file. They are administered with IQL: see query/catalogue. */
import type { StepUpRules } from 'gatehouse-protocol'
import type { XStatic } from 'typebox/schema'
import { closed, either, flag, list, text, words } from '../schema/builders.ts'
import type { Fault } from '../schema/check-schema.ts'
import type { JsonObject, Known, Section } from './define-resource.ts'
import { repeated } from './names.ts'
import { declaredStepUp, STEP_UP_MEMBERS, stepUpTarget } from './step-up-members.ts'
import { NULL, RETENTION_MEMBER, scopeFaults, TABLE_NAME, TABLE_NAME_PATTERN, writtenTime } from './tables.ts'

export type DeclaredView = XStatic<typeof VIEW>

export interface ViewTarget {
  readonly name: string
  readonly description: string
  readonly readScope: string | null
  /** Names; empty: those of the query. */
  readonly columns: readonly string[]
  /** As IQL text. */
  readonly query: string
  /** Whether its rows are stored, and brought up to date after each commit. */
  readonly materialized?: true | undefined
  /** What reading a materialized view demands of the sign-in. */
  readonly stepUp?: StepUpRules | undefined
  /** How long the rows of a materialized view are kept. */
  readonly retention?: { readonly time: string; readonly on: string } | undefined
}

/** As it is stored: the query in canonical form, with every column. */
export interface BoundView extends ViewTarget {
  /** The types of the columns, such as `Decimal(18,4) NOT NULL`. */
  readonly types: readonly string[]
}

const VIEW = closed(['name', 'query'], {
  name: text({ pattern: TABLE_NAME }),
  description: words(),
  query: text({ minLength: 1, description: 'An IQL query without parameters, over tables and other views.' }),
  columns: list(text({ pattern: TABLE_NAME }), 'Names of the columns. Default: those of the query.'),
  read_scope: either(text({ description: 'In addition to the scopes of what the query reads. Default: none.' }), NULL),
  materialized: flag('Whether the rows are stored, and brought up to date after each commit. Default: false.'),
  retention: RETENTION_MEMBER,
  ...STEP_UP_MEMBERS,
})

export const VIEWS = {
  noun: 'view',
  section: 'views',
  key: 'name',
  foldKey: (name) => name.toLowerCase(),
  list: list(VIEW),
  patterns: [TABLE_NAME_PATTERN],
  toItem: viewTarget,
  declare: declareView,
  namedScopes: ({ readScope }) => [readScope],
  refersTo: ['scopes'],
  faults: viewFaults,
} as const satisfies Section<ViewTarget, DeclaredView>

function viewFaults(view: DeclaredView, { scopes }: Pick<Known, 'scopes'>): Fault[] {
  return [
    ...repeated('columns', view.columns, (name) => name.toLowerCase()),
    ...scopeFaults('read_scope', view.read_scope, scopes),
    ...stepUpFaults(view),
  ]
}

/** A view has the demands of what it reads; only a materialized one can have its own. */
function stepUpFaults(view: DeclaredView): Fault[] {
  if (view.materialized) return []
  return (['require_acr', 'require_age', 'retention'] as const)
    .filter((path) => view[path] !== undefined)
    .map((path) => ({ path, text: 'only a materialized view can have this' }))
}

export function viewTarget(view: DeclaredView): ViewTarget {
  const stepUp = stepUpTarget(view)
  return {
    name: view.name,
    description: view.description ?? '',
    readScope: view.read_scope ?? null,
    columns: view.columns ?? [],
    query: view.query,
    ...(view.materialized && { materialized: true }),
    ...(stepUp && { stepUp }),
    ...(view.retention && { retention: writtenTime(view.retention) }),
  }
}

function declareView(view: ViewTarget): JsonObject {
  const { name, description, query, columns, readScope, materialized, stepUp, retention } = view
  return {
    name,
    ...(description !== '' && { description }),
    query,
    ...(columns.length > 0 && { columns: [...columns] }),
    ...(readScope !== null && { read_scope: readScope }),
    ...(materialized && { materialized }),
    ...(retention && { retention }),
    ...declaredStepUp(stepUp),
  }
}
