/** A server and a provider that the tests of a file share; each test has a new person. */
import { after, before, beforeEach } from 'node:test'
import { openPlace } from '../engines.ts'
import { openProviderPlace, type ProviderPlace } from './provider-place.ts'
import { type StubProvider, startStubProvider } from './stub-provider.ts'

/** `take` is called before the tests. */
export function useStubPlace(take: (place: ProviderPlace, stub: StubProvider) => void): void {
  let close: () => Promise<void>
  let stub: StubProvider
  let count = 0
  before(async () => {
    const opened = await openPlace('sqlite')
    const place = await openProviderPlace(opened.place)
    stub = await startStubProvider()
    stub.clock = place.clock
    close = async () => {
      await place.close()
      await stub.stop()
      await opened.leave()
    }
    take(place, stub)
  })
  after(() => close())
  beforeEach(() => {
    stub.lies = {}
    stub.more = {}
    count += 1
    stub.person = { sub: `subject-${count}`, preferred_username: `person-${count}`, groups: ['gatehouse'] }
  })
}
