/** The entry of the alerts. Loaded when there is a channel to test. */
export { type ChannelTestEnv, testChannel } from './channel-test.ts'
