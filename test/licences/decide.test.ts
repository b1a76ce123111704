/** Who has what of a product at a moment, and why. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { acceptedUntil, decide, type Facts } from '../../packages/server/src/licences/decide.ts'
import type { HeldEntitlement } from '../../packages/server/src/store/licences/entitlements.ts'
import type { Agreement, Product } from '../../packages/server/src/store/licences/products.ts'

const PRODUCT: Product = {
  name: 'NYSE.L1',
  delay: 900_000,
  byDefault: 'none',
  agreement: undefined,
  trial: undefined,
  warn: undefined,
  enabled: true,
  simultaneous: undefined,
  whenFull: 'refuse',
  count: 'user',
  covers: [],
}
const AGREEMENT: Agreement = {
  id: 'nyse',
  version: '3',
  title: 'NYSE',
  text: { en: 'I agree' },
  asksStatus: true,
  grace: 50,
  replaced: [
    { version: '2', at: 80 },
    { version: '1', at: 40 },
  ],
}
const FACTS: Facts = {
  product: PRODUCT,
  agreement: undefined,
  held: [],
  trial: undefined,
  acceptances: [],
  isDisabled: false,
  now: 100,
}

function held(
  level: HeldEntitlement['level'],
  access: HeldEntitlement['access'],
  others: Partial<HeldEntitlement> = {},
) {
  return {
    id: 'x',
    product: 'NYSE.L1',
    level,
    access,
    from: undefined,
    until: undefined,
    kind: 'billable',
    ...others,
  } as const
}

function decided(facts: Partial<Facts>): string {
  const { access, reason } = decide({ ...FACTS, ...facts })
  return `${access} ${reason}`
}

test('the nearest level with a valid entitlement decides: user or client, trial, attribute, role', () => {
  const all = [held('role', 'realtime'), held('attribute', 'delayed'), held('user', 'none')]
  assert.equal(decided({ held: all }), 'none none')
  assert.equal(decided({ held: all.slice(0, 2) }), 'delayed attribute')
  assert.equal(decided({ held: all.slice(0, 1) }), 'realtime role')
  assert.equal(decided({ held: [held('client', 'delayed'), held('role', 'realtime')] }), 'delayed client')
  const trial = { product: 'NYSE.L1', from: 0, until: 200 }
  assert.equal(decided({ held: [held('attribute', 'none')], trial }), 'realtime trial')
  assert.equal(decided({ held: [held('user', 'none')], trial }), 'none none')
  assert.equal(decided({ trial: { ...trial, until: 100 } }), 'none expired')
})

test('in a level the highest access decides', () => {
  assert.equal(
    decided({ held: [held('role', 'none'), held('role', 'realtime'), held('role', 'delayed')] }),
    'realtime role',
  )
  const { until, kind } = decide({
    ...FACTS,
    held: [held('role', 'realtime', { until: 200, kind: 'exempt' }), held('role', 'realtime', { until: 150 })],
  })
  assert.deepEqual([until, kind], [150, 'billable'])
})

test('periods begin with from, and end before until', () => {
  const from = (at: number) => decided({ held: [held('user', 'realtime', { from: at })] })
  assert.deepEqual([from(100), from(101)], ['realtime user', 'none not_yet'])
  const until = (at: number) => decided({ held: [held('user', 'realtime', { until: at })] })
  assert.deepEqual([until(101), until(100)], ['realtime user', 'none expired'])
  assert.equal(decided({ held: [held('user', 'none', { until: 100 }), held('role', 'realtime')] }), 'realtime role')
})

test('all others have the default; the reason says what would give more', () => {
  const product = { ...PRODUCT, byDefault: 'delayed' } as const
  assert.equal(decided({ product }), 'delayed default')
  assert.equal(decided({ product, held: [held('user', 'realtime', { until: 5 })] }), 'delayed expired')
  assert.equal(decided({ product, held: [held('user', 'none')] }), 'none none')
  assert.equal(
    decided({ product: { ...product, byDefault: 'realtime' }, held: [held('user', 'delayed', { until: 5 })] }),
    'realtime default',
  )
})

test('nobody has anything of a product that is switched off, and a disabled user has nothing', () => {
  const of = [held('user', 'realtime')]
  assert.equal(decided({ product: { ...PRODUCT, enabled: false, byDefault: 'realtime' }, held: of }), 'none disabled')
  assert.equal(decided({ held: of, isDisabled: true }), 'none none')
})

test('delayed access to a product without a delay is none', () => {
  const product = { ...PRODUCT, delay: undefined }
  assert.equal(decided({ product, held: [held('user', 'delayed')] }), 'none none')
  assert.equal(decided({ product: { ...product, byDefault: 'delayed' } }), 'none none')
})

test('without the agreement an entitlement does not count; none counts', () => {
  const product = { ...PRODUCT, agreement: 'nyse', byDefault: 'delayed' } as const
  const accepted = (version: string) => ({
    ...{
      agreement: 'nyse',
      holder: 'u',
      version,
      digest: '',
      language: 'en',
      address: undefined,
      note: undefined,
      at: 1,
    },
  })
  const facts = { product, agreement: AGREEMENT, held: [held('user', 'realtime')] }
  assert.equal(decided(facts), 'delayed agreement')
  assert.equal(decided({ ...facts, acceptances: [accepted('3')] }), 'realtime user')
  assert.equal(decided({ ...facts, acceptances: [{ ...accepted('3'), agreement: 'other' }] }), 'delayed agreement')
  assert.equal(decided({ ...facts, agreement: undefined, acceptances: [accepted('3')] }), 'delayed agreement')
  assert.equal(decided({ ...facts, held: [held('user', 'none')] }), 'none none')
})

test('a replaced version counts for the grace', () => {
  const until = (version: string) => acceptedUntil(AGREEMENT, [{ agreement: 'nyse', version }])
  assert.deepEqual([until('3'), until('2'), until('1'), until('0')], [Infinity, 130, 90, 0])
})
