/** The product of the demonstration, which covers its market: real-time to all, and late to a visitor. */
import { TICKER } from './demo-feed.ts'
import type { Declaration } from './shape.ts'

export const VISITOR = {
  username: 'dinah',
  password: 'looking-glass-1',
  roles: ['visitor'],
  name: 'Dinah Chester',
  given_name: 'Dinah',
  family_name: 'Chester',
  email: 'dinah@example.com',
  email_verified: true,
} as const

const PRODUCT = 'DEMO.L1'

/** Added to the demonstration where its market trades. The delay is short, so that both can be watched side by side. */
export const DEMO_LICENCES = {
  roles: [{ name: 'visitor', description: 'Sees the market, half a minute late', scopes: ['Platform/Market'] }],
  users: [{ ...VISITOR, roles: [...VISITOR.roles] }],
  products: [
    {
      name: PRODUCT,
      delay: '30 seconds',
      // For the programs and users that people add while they try things out.
      default: 'realtime',
      covers: [{ feed: TICKER.name }, { table: 'quotes' }, { table: 'trades' }],
    },
  ],
  entitlements: [
    { product: PRODUCT, role: 'trader', access: 'realtime' },
    { product: PRODUCT, role: 'admin', access: 'realtime' },
    { product: PRODUCT, role: 'visitor', access: 'delayed' },
    { product: PRODUCT, client: 'demo-service', access: 'realtime', kind: 'exempt', note: 'the market itself' },
  ],
} satisfies Declaration
