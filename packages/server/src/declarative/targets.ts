/** The desired state of a role, user, client, table, view or controller: the declaration with its defaults filled in. */

import type { StepUpRules } from 'gatehouse-protocol'
import { readDuration, writeDuration } from '../lib/duration.ts'
import { attributeValuesTarget } from '../resources/attributes.ts'
import { declaredStepUp, stepUpTarget } from '../resources/step-up-members.ts'
import type { Role } from '../store/accounts/roles.ts'
import type { User } from '../store/accounts/user.ts'
import type { ClientMetadata } from '../store/clients/client-metadata.ts'
import type { RemoteController } from '../store/controllers/controllers.ts'
import type { ResolvedClient, ResolvedUser } from './secrets.ts'
import type { DeclaredController, DeclaredRole, DeclaredTable, DeclaredView } from './shape.ts'

export type RoleTarget = Role
export type ControllerTarget = RemoteController
export type UserTarget = Pick<User, 'username' | 'profile' | 'breakGlass' | 'roles' | 'attributes' | 'disabled'>

/** As registered. Defaults of absent members are applied when it is read. */
export type ClientTarget = ClientMetadata

export interface TableTarget {
  readonly name: string
  readonly description: string
  readonly columns: readonly ColumnTarget[]
  readonly readScope: string | null
  readonly writeScope: string | null
  readonly rowFilter: string | null
  /** Conditions in IQL, by name. */
  readonly checks?: Readonly<Record<string, string>> | undefined
  readonly stepUp?: StepUpRules | undefined
  /** Whether changes are logged for live queries. */
  readonly live: boolean
}

export interface ColumnTarget {
  readonly name: string
  /** Without spaces: `Decimal(18,4)`. */
  readonly type: string
  readonly primaryKey: boolean
  readonly nullable: boolean
  readonly unique: boolean
}

export interface ViewTarget {
  readonly name: string
  readonly description: string
  readonly readScope: string | null
  /** Names; empty: those of the query. */
  readonly columns: readonly string[]
  /** As IQL text. */
  readonly query: string
}

/** As it is stored: the query in canonical form, with every column. */
export interface BoundView extends ViewTarget {
  /** The types of the columns, such as `Decimal(18,4) NOT NULL`. */
  readonly types: readonly string[]
}

export function roleTarget(role: DeclaredRole): RoleTarget {
  return {
    name: role.name,
    scopes: role.scopes ?? [],
    description: role.description ?? '',
    requireSecondFactor: role.require_second_factor ?? false,
    ...(role.provisioned !== undefined && { provisioned: role.provisioned }),
  }
}

/** A user disabled by an operator stays disabled, and keeps the attributes that others gave, unless the file says otherwise. */
export function userTarget(
  user: ResolvedUser,
  before: Partial<Pick<UserTarget, 'disabled' | 'attributes' | 'breakGlass'>> = {},
): UserTarget {
  // Members about the password are applied with it, see plan.ts.
  const { password, password_hash, reset_password, must_change_password, ...rest } = user
  const { username, roles = [], attributes, disabled = before.disabled ?? false, break_glass, ...claims } = rest
  return {
    username,
    profile: claims,
    breakGlass: break_glass ?? before.breakGlass ?? false,
    roles: roles.toSorted(),
    attributes: attributes === undefined ? (before.attributes ?? {}) : attributeValuesTarget(attributes),
    disabled,
  }
}

/** The same for a client. */
export function clientTarget(client: ResolvedClient, isDisabled = false): ClientTarget {
  const { client_secret, attributes, disabled = isDisabled, ...metadata } = client
  return { ...metadata, ...(attributes && { attributes: attributeValuesTarget(attributes) }), disabled }
}

export function tableTarget(table: DeclaredTable): TableTarget {
  const stepUp = stepUpTarget(table)
  return {
    name: table.name,
    description: table.description ?? '',
    columns: table.columns.map((column) => ({
      name: column.name,
      type: column.type.replaceAll(/\s/g, ''),
      primaryKey: column.primary_key ?? false,
      nullable: column.nullable ?? column.primary_key !== true,
      unique: column.unique ?? false,
    })),
    readScope: table.read_scope ?? null,
    writeScope: table.write_scope ?? null,
    rowFilter: table.row_filter ?? null,
    ...(Object.keys(table.checks ?? {}).length > 0 && { checks: table.checks }),
    ...(stepUp && { stepUp }),
    live: table.live ?? true,
  }
}

export function viewTarget(view: DeclaredView): ViewTarget {
  return {
    name: view.name,
    description: view.description ?? '',
    readScope: view.read_scope ?? null,
    columns: view.columns ?? [],
    query: view.query,
  }
}

const DEFAULT_TIMEOUT_MS = 10_000
const DEFAULT_CONCURRENCY = 64

export function controllerTarget(controller: DeclaredController): ControllerTarget {
  const { name, class: feedClass = 'Channel', url, topics, timeout = '', concurrency } = controller
  return {
    name,
    feedClass,
    url,
    topics: topics.map((topic) => {
      const stepUp = stepUpTarget(topic)?.read
      return { name: topic.name, needs: topic.needs, ...(stepUp && { stepUp }) }
    }),
    timeoutMs: readDuration(timeout) ?? DEFAULT_TIMEOUT_MS,
    concurrency: concurrency ?? DEFAULT_CONCURRENCY,
  }
}

/** The same without the defaults, as it is written in a file. */
export function declaredController({ name, feedClass, url, topics, timeoutMs, concurrency }: ControllerTarget): object {
  return {
    name,
    ...(feedClass !== 'Channel' && { class: feedClass }),
    url,
    topics: topics.map(declaredTopic),
    ...(timeoutMs !== DEFAULT_TIMEOUT_MS && { timeout: writeDuration(timeoutMs) }),
    ...(concurrency !== DEFAULT_CONCURRENCY && { concurrency }),
  }
}

export function declaredTopic({ name, needs, stepUp }: ControllerTarget['topics'][number]): object {
  return { name, needs, ...declaredStepUp(stepUp && { read: stepUp }) }
}
