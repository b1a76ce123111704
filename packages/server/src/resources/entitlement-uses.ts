/** Entitlements that name a role or an attribute. */
import type { Level } from '../store/licences/entitlements.ts'
import type { Stores } from '../store/stores.ts'

const MOST_NAMED = 20

/** One that came later under the same name would have the entitlements of this one. */
export async function refuseEntitled(
  level: Level,
  name: string,
  { licences }: Pick<Stores, 'licences'>,
): Promise<string | undefined> {
  const products = await licences.entitlements.productsFor(level, name, MOST_NAMED)
  return products.length === 0
    ? undefined
    : `The ${level} ${name} has entitlements to ${products.join(', ')}: take these away first`
}
