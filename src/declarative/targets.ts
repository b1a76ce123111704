/** The desired state of a role, user, client or table: the declaration with its defaults filled in. */
import type { ClientMetadata } from '../store/client-metadata.ts'
import type { Profile } from '../store/users.ts'
import type { ResolvedClient, ResolvedUser } from './secrets.ts'
import type { DeclaredRole, DeclaredTable } from './shape.ts'

export interface RoleTarget {
  readonly name: string
  readonly scopes: readonly string[]
  readonly description: string
  readonly requireSecondFactor: boolean
}

export interface UserTarget {
  readonly username: string
  /** Claims by their registered names. */
  readonly profile: Profile
  readonly roles: readonly string[]
  readonly disabled: boolean
}

/** As registered. Defaults of absent members are applied when it is read. */
export type ClientTarget = ClientMetadata

export interface TableTarget {
  readonly name: string
  readonly description: string
  readonly columns: readonly ColumnTarget[]
  readonly readScope: string | null
  readonly writeScope: string | null
  readonly rowFilter: string | null
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

export function roleTarget(role: DeclaredRole): RoleTarget {
  return {
    name: role.name,
    scopes: role.scopes ?? [],
    description: role.description ?? '',
    requireSecondFactor: role.require_second_factor ?? false,
  }
}

export function userTarget(user: ResolvedUser): UserTarget {
  // What concerns the password is applied with it, see plan.ts.
  const { password, password_hash, reset_password, must_change_password, ...rest } = user
  const { username, roles = [], disabled = false, ...claims } = rest
  return { username, profile: claims, roles, disabled }
}

export function clientTarget({ client_secret, disabled = false, ...metadata }: ResolvedClient): ClientTarget {
  return { ...metadata, disabled }
}

export function tableTarget(table: DeclaredTable): TableTarget {
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
    live: table.live ?? true,
  }
}
