/** The desired state of a user, client, table or view: the declaration with its defaults filled in. */

import type { StepUpRules } from 'gatehouse-protocol'
import { attributeValuesTarget } from '../resources/attributes.ts'
import { stepUpTarget } from '../resources/step-up-members.ts'
import type { User } from '../store/accounts/user.ts'
import type { ResolvedUser } from './secrets.ts'
import type { DeclaredTable, DeclaredView } from './shape.ts'

export type UserTarget = Pick<User, 'username' | 'profile' | 'breakGlass' | 'roles' | 'attributes' | 'disabled'>

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
