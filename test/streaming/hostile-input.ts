/** Generators of hostile or broken input: messages, payloads and frames. */
import fc from 'fast-check'
import { closeFrame, frame } from '../support/frames.ts'

const word = fc.constantFrom(
  'Auth',
  'Platform',
  'Test',
  'AuthToken',
  'QueryIdentify',
  'Identify',
  'ServerInfo',
  'Feeds',
  'QueryServerInfo',
  'Configure',
  'QueryConfigure',
  'Echo',
  'Later',
  'Open',
  'Market',
  'Price/ACME',
  'Break',
  '__proto__',
  'constructor',
  '',
)
const action = fc.constantFrom('Publish', 'Sub', 'Unsub', 'Cancel', 'Error')
const id = fc.oneof(fc.integer(), fc.maxSafeInteger(), fc.constantFrom(-0, 0, 1, 1.5, 1e300), fc.string())
const anything = fc.jsonValue({ maxDepth: 4 })
const data = fc.oneof(
  anything,
  fc.record({
    Provider: fc.oneof(fc.constant('Bearer'), anything),
    AccessToken: fc.oneof(fc.base64String(), anything),
  }),
  fc.record({ ActionTimeout: fc.oneof(fc.constantFrom('00:00:01', '00:00:35', '99:99:99'), anything) }),
)

/** Mostly well-formed, because the interesting faults are in messages that are almost valid. */
export const messages = fc.record(
  {
    Controller: fc.oneof({ weight: 9, arbitrary: word }, { weight: 1, arbitrary: anything }),
    Topic: fc.oneof({ weight: 9, arbitrary: word }, { weight: 1, arbitrary: anything }),
    Action: fc.oneof({ weight: 9, arbitrary: action }, { weight: 1, arbitrary: anything }),
    TransactionID: id,
    Data: data,
    Confirm: fc.oneof({ weight: 9, arbitrary: fc.boolean() }, { weight: 1, arbitrary: anything }),
  },
  { requiredKeys: [] },
)

const malformed = fc.oneof(
  fc.string(),
  fc.json(),
  fc.json().map((text) => text.slice(0, -1)),
)
/** The payload of one text frame. */
export const payloads = fc.oneof(
  { weight: 8, arbitrary: messages.map((message) => JSON.stringify(message)) },
  { weight: 1, arbitrary: malformed },
)

const bytes = fc.uint8Array({ maxLength: 300 }).map((array) => Buffer.from(array))
/** Frames with every kind of invalid header, and some valid ones. */
export const frames = fc.oneof(
  payloads.map((payload) => frame({ opcode: 1, payload })),
  fc
    .record({
      fin: fc.boolean(),
      reserved: fc.constantFrom(0, 0, 0, 0, 1, 2, 4),
      opcode: fc.constantFrom(0, 1, 1, 1, 2, 3, 8, 9, 10, 15),
      payload: bytes,
      masked: fc.constantFrom(true, true, true, false),
    })
    .map(frame),
  fc.record({ opcode: fc.constant(1), declaredLength: fc.bigInt({ min: 0n, max: 2n ** 63n }) }).map(frame),
  fc.tuple(fc.nat({ max: 6000 }), bytes).map(([code, reason]) => closeFrame(code, reason.subarray(0, 100))),
  bytes,
)
