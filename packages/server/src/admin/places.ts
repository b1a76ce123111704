/** The places in use now: the sign-ins and programs that use products of market data, on all nodes. */
import { subjectNames } from '../store/accounts/subject-names.ts'
import { createPlaces, type Place } from '../store/licences/places.ts'
import { badCursor, cursorQuery, PAGE_REPLY, pageReply, readPage } from './request/page.ts'
import type { AdminCall, AdminEnv, AdminRoute } from './route.ts'
import { findUser } from './users.ts'

export const placeRoutes: readonly AdminRoute[] = [
  {
    method: 'GET',
    path: '/admin/places',
    scope: 'Identity/Admin',
    summary: 'Lists the places in use now, page by page, ordered by product: sign-ins and programs that use it.',
    query: {
      product: 'Only those of a product.',
      user: 'Only those of a user, by id or username.',
      ...cursorQuery('Places'),
    },
    reply: `${PAGE_REPLY}; an item is {"product", "user" or "client", "username", "access", "since", "session"}.`,
    run: listPlaces,
  },
]

async function listPlaces(call: AdminCall, env: AdminEnv) {
  const { product, user } = call.query
  const page = readPage(call)
  const holder = user === undefined ? undefined : `user:${(await findUser(env.stores, user)).id}`
  const clock = (await env.licenceClock?.()) ?? env.clock
  const rows = await createPlaces(env.database.db).list({
    after: readCursor(page.after),
    limit: page.limit,
    product,
    holder,
    now: clock(),
  })
  const names = await subjectNames(env.database, [...new Set(rows.map((row) => readHolder(row).id))])
  return pageReply('/admin/places', call, page, rows, {
    cursorKey: writeCursor,
    present: (row) => {
      const { kind, id } = readHolder(row)
      return {
        product: row.product,
        ...(kind === 'user' ? { user: id, username: names.get(id) ?? null } : { client: id }),
        ...{ access: row.access, since: new Date(row.taken_at).toISOString(), session: row.session },
      }
    },
  })
}

function readHolder({ holder }: Pick<Place, 'holder'>): { readonly kind: string; readonly id: string } {
  const at = holder.indexOf(':')
  return { kind: holder.slice(0, at), id: holder.slice(at + 1) }
}

/** Products and digests have no slash. */
function writeCursor({ product, holder, place }: Place): string {
  return [product, place, holder].join('/')
}

function readCursor(text: string): Pick<Place, 'product' | 'holder' | 'place'> | undefined {
  if (text === '') return undefined
  const [, product, place, holder] = /^([A-Za-z0-9._-]{1,64})\/([0-9a-f]{32})\/(.{1,300})$/s.exec(text) ?? []
  if (product === undefined || place === undefined || holder === undefined) throw badCursor()
  return { product, place, holder }
}
