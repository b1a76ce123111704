/** The tables that a scope opens to a user, for people who decide whether an agent may have it. */
import type { User } from '../../store/accounts/user.ts'

export interface OpenedTables {
  /** The first ones. */
  readonly names: readonly string[]
  /** How many there are besides. */
  readonly others: number
  /** Whether there are still more than these. */
  readonly isMore: boolean
}

/** What administration shows of the rights of a user; undefined where no node runs the query service. */
export type ListTables = (
  user: {
    readonly subject: string
    readonly username: string
    readonly roles: readonly string[]
    readonly attributes: User['attributes']
    readonly scopes: readonly string[]
  },
  page: { readonly prefix: string; readonly after: string; readonly limit: number },
) => Promise<{ readonly items: readonly object[]; readonly next?: string | undefined } | undefined>

const MOST_NAMED = 10
const MOST_COUNTED = 1_000

export async function openedTables(
  scope: string,
  { id: subject, username, roles, attributes }: User,
  listTables: ListTables,
): Promise<OpenedTables | undefined> {
  const page = { prefix: '', after: '', limit: MOST_COUNTED }
  const found = await listTables({ subject, username, roles, attributes, scopes: [scope] }, page)
  if (found === undefined) return undefined
  const names = found.items.flatMap((item) => ('name' in item && isReadable(item) ? [String(item.name)] : []))
  return {
    names: names.slice(0, MOST_NAMED),
    others: Math.max(0, names.length - MOST_NAMED),
    isMore: found.next !== undefined,
  }
}

/** System tables are open to everyone, and say nothing about the scope. */
function isReadable(item: object): boolean {
  if ('issystem' in item && item.issystem === true) return false
  return 'rights' in item && Array.isArray(item.rights) && item.rights.includes('select')
}
