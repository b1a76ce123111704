/** Users that meet a condition, page by page. Conditions become SQL in which every value is a bound parameter. */
import type { Expression, ExpressionBuilder, Kysely, SqlBool } from 'kysely'
import type { User } from '../accounts/user.ts'
import type { Schema } from '../database/schema.ts'

/** What SCIM shows of a user. */
export type ScimUser = Pick<
  User,
  'id' | 'username' | 'profile' | 'attributes' | 'disabled' | 'breakGlass' | 'createdAt' | 'updatedAt'
>

/** Columns with folded texts, each with an index. */
export type KeyColumn = 'username_key' | 'name_key' | 'family_key' | 'email_key'

export type UserCondition =
  | { readonly kind: 'all' }
  | { readonly kind: 'id'; readonly id: string }
  | { readonly kind: 'external id'; readonly clientId: string; readonly externalId: string }
  | { readonly kind: 'active'; readonly active: boolean }
  /** All users who have the role of the group, from any source. */
  | { readonly kind: 'group'; readonly id: string }
  | { readonly kind: 'key'; readonly column: KeyColumn; readonly op: KeyOperator; readonly text: string }
  | { readonly kind: 'and' | 'or'; readonly parts: readonly UserCondition[] }

/** `sw`: begins with. */
export type KeyOperator = 'eq' | 'sw' | 'gt' | 'ge' | 'lt' | 'le'

export interface UserPage {
  /** Only users after this one, in the order of ids. */
  readonly afterId?: string | undefined
  readonly offset?: number | undefined
  readonly limit: number
}

export function createScimUsers(db: Kysely<Schema>) {
  return {
    /** How many users meet the condition; at most `most`. */
    async count(condition: UserCondition, most = Number.MAX_SAFE_INTEGER): Promise<number> {
      const found = db
        .selectFrom('users')
        .select('users.id')
        .where((eb) => meets(eb, condition))
        .limit(most)
      const row = await db
        .selectFrom(found.as('found'))
        .select(({ fn }) => fn.countAll<number>().as('count'))
        .executeTakeFirstOrThrow()
      return Number(row.count)
    },

    /** Ordered by id. */
    async page(condition: UserCondition, { afterId, offset, limit }: UserPage): Promise<ScimUser[]> {
      let query = db
        .selectFrom('users')
        .select([
          ...(['id', 'username', 'profile', 'attributes', 'disabled'] as const),
          ...(['break_glass', 'created_at', 'updated_at'] as const),
        ])
        .where((eb) => meets(eb, condition))
        .orderBy('users.id')
        .limit(limit)
      if (afterId !== undefined) query = query.where('users.id', '>', afterId)
      if (offset !== undefined) query = query.offset(offset)
      return (await query.execute()).map((row) => ({
        id: row.id,
        username: row.username,
        profile: JSON.parse(row.profile),
        attributes: JSON.parse(row.attributes),
        disabled: row.disabled === 1,
        breakGlass: row.break_glass === 1,
        createdAt: row.created_at,
        updatedAt: row.updated_at,
      }))
    },
  }
}

const OPERATORS = { eq: '=', gt: '>', ge: '>=', lt: '<', le: '<=' } as const

function meets(eb: ExpressionBuilder<Schema, 'users'>, condition: UserCondition): Expression<SqlBool> {
  switch (condition.kind) {
    case 'all':
      return eb.and([])
    case 'id':
      return eb('users.id', '=', condition.id)
    case 'active':
      return eb('users.disabled', '=', Number(!condition.active))
    case 'external id':
      return eb(
        'users.id',
        'in',
        eb
          .selectFrom('scim_external_ids')
          .select('resource_id')
          .where('client_id', '=', condition.clientId)
          .where('kind', '=', 'User')
          .where('external_id', '=', condition.externalId),
      )
    case 'group':
      return eb(
        'users.id',
        'in',
        eb
          .selectFrom('user_roles')
          .innerJoin('scim_groups', 'scim_groups.role', 'user_roles.role')
          .select('user_roles.user_id')
          .where('scim_groups.id', '=', condition.id),
      )
    case 'key':
      if (condition.op !== 'sw') return eb(condition.column, OPERATORS[condition.op], condition.text)
      // A range of the index, in the order of bytes.
      return eb.and([
        eb(condition.column, '>=', condition.text),
        eb(condition.column, '<', `${condition.text}\u{10ffff}`),
      ])
    case 'and':
      return eb.and(condition.parts.map((part) => meets(eb, part)))
    case 'or':
      return eb.or(condition.parts.map((part) => meets(eb, part)))
  }
}
