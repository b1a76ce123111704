/** The two sample exchanges of the contract over a real socket. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startGateway } from '../support/gateway.ts'
import { connect } from '../support/stream-client.ts'

test('sample: header authentication at the upgrade, then QueryIdentify', async (t) => {
  const { port, mint } = await startGateway(t)
  const token = await mint.issue({ scopes: ['Platform/Market', 'Platform/Trading', 'offline_access'] })
  const client = await connect(port, {
    path: '/Platform?version=1.1',
    headers: { Authorization: `Bearer ${token}` },
    perMessageDeflate: true,
  })
  assert.equal(client.socket.protocol, 'PlatformJson')
  const reply = await client.request({ Controller: 'Auth', Topic: 'QueryIdentify', TransactionID: 1234567891 })
  assert.deepEqual(reply, {
    Controller: 'Auth',
    Topic: 'QueryIdentify',
    Action: 'Publish',
    TransactionID: 1234567891,
    Data: {
      Result: 'Success',
      DisplayName: 'Alice Liddell',
      UserID: 'alice',
      ExpiryDate: '2026-11-15T01:00:00Z',
      Scope: ['Vendor.Platform.Market', 'Vendor.Platform.Trading'],
    },
  })
})

test('sample: the reply to AuthToken has the topic Identify', async (t) => {
  const { port, mint } = await startGateway(t)
  const token = await mint.issue({ scopes: ['Platform/Market'] })
  const client = await connect(port, { path: '/Platform?version=1.1' })
  const reply = await client.request({
    Controller: 'Auth',
    Topic: 'AuthToken',
    TransactionID: 1234567890,
    Data: { Provider: 'Bearer', AccessToken: token },
  })
  assert.deepEqual(reply, {
    Controller: 'Auth',
    Topic: 'Identify',
    Action: 'Publish',
    TransactionID: 1234567890,
    Data: {
      Result: 'Success',
      AccessToken: Buffer.from(token).toString('base64'),
      DisplayName: 'Alice Liddell',
      UserID: 'alice',
      ExpiryDate: '2026-11-15T01:00:00Z',
      Scope: ['Vendor.Platform.Market'],
    },
  })
})
