/** `POST /licences/places`: programs that pass market data on say who uses it, and where. */
import { DECISIONS_SCOPE, Refusal } from 'gatehouse-protocol'
import type { Context } from '../../http/context.ts'
import type { RouteGroup } from '../../http/route.ts'
import type { UsedPlaces } from '../places.ts'
import type { Licences } from '../service.ts'
import { badBody, readBody } from './body.ts'

export interface PlacesEndpointEnv {
  readonly licences: Licences
  readonly openPlaces: () => Promise<UsedPlaces>
  /** Throws unless the caller is a client, or has a token, with the scope; returns the id of the client. */
  requireCaller(context: Context, scope: string): Promise<string>
}

const PATH = '/licences/places'
const LONGEST_SECONDS = 300
const LONGEST_TEXT = 256

export function placesGroup(env: PlacesEndpointEnv): RouteGroup {
  return {
    at: [PATH],
    limit: 'query',
    headers: { 'cache-control': 'no-store' },
    routes: [
      {
        method: 'POST',
        path: PATH,
        body: { limit: 4 * 1024, types: ['application/json'] },
        handle: (context) => answer(context, env),
      },
    ],
  }
}

async function answer(context: Context, { licences, openPlaces, requireCaller }: PlacesEndpointEnv): Promise<void> {
  const client = await requireCaller(context, DECISIONS_SCOPE)
  const { kind, name, product: productName, place, seconds } = readRequest(context)
  const { products } = await licences.definitions()
  const product = products.get(productName)
  if (product === undefined) throw new Refusal('licence.unknown', 404, `There is no product "${productName}"`)
  const subject = await licences.find(kind, name)
  if (subject === undefined) throw new Refusal('licence.unknown', 404, `There is no ${kind} "${name}"`)
  const facts = await licences.facts(subject)
  const places = await openPlaces()
  if (seconds === 0) {
    await places.leave(facts, product.name, place)
    context.end(204)
    return
  }
  const { session, access, until, isNew } = await places.take({
    facts,
    product,
    place,
    seconds,
    client,
    way: 'handler',
  })
  const reply = {
    Session: session,
    Access: access,
    ...(access === 'delayed' && { Delay: (product.delay ?? 0) / 1000 }),
    Until: new Date(until).toISOString(),
  }
  context.json(reply, isNew ? 201 : 200)
}

function readRequest(context: Context) {
  const body = readBody(context)
  const text = (name: string): string | undefined => {
    const value = body.get(name)
    if (value === undefined) return undefined
    if (typeof value === 'string' && value !== '' && value.length <= LONGEST_TEXT && !value.includes('\0')) return value
    throw badBody(name, `must be a text of 1 to ${LONGEST_TEXT} characters`)
  }
  const [user, client, product, place] = [text('User'), text('Client'), text('Product'), text('Place')]
  const name = user ?? client
  if (name === undefined || (user !== undefined && client !== undefined))
    throw badBody('', 'either User or Client is needed')
  if (product === undefined) throw badBody('Product', 'is needed')
  if (place === undefined) throw badBody('Place', 'is needed')
  const seconds = body.get('Seconds')
  if (typeof seconds !== 'number' || !Number.isInteger(seconds) || seconds < 0 || seconds > LONGEST_SECONDS)
    throw badBody('Seconds', `must be a whole number from 0 to ${LONGEST_SECONDS}`)
  return { kind: user === undefined ? ('client' as const) : ('user' as const), name, product, place, seconds }
}
