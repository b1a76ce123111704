/** The feed of the demonstration: the prices of its market. */

export const TICKER = {
  name: 'Ticker',
  description: 'The prices of the demonstration market: Price/ACME, or Price/* for all.',
  class: 'Market',
  read: 'Platform/Market',
  write: 'Platform/Admin',
  keep: 'latest',
  history: { messages: 100, time: '1 hour' },
} as const
