import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createAddressFilter } from './address-filter.ts'

const PUBLIC = ['1.1.1.1', '8.8.8.8', '172.32.0.1', '100.128.0.1', '2606:4700::1111', '2a00::1']

const NOT_PUBLIC = [
  ...['0.0.0.0', '0.1.2.3', '10.0.0.1', '10.255.255.255', '100.64.0.1', '100.127.255.255'],
  ...['127.0.0.1', '127.255.255.254', '169.254.169.254', '172.16.0.1', '172.31.255.255'],
  ...['192.0.0.1', '192.0.2.1', '192.88.99.1', '192.168.0.1', '198.18.0.1', '198.51.100.7'],
  ...['203.0.113.9', '224.0.0.1', '239.255.255.255', '240.0.0.1', '255.255.255.255'],
  ...['::', '::1', '::7f00:1', 'fc00::1', 'fd12:3456::1', 'fe80::1', 'fe80::1%eth0', 'fec0::1'],
  ...['ff02::1', '2001:db8::1', '2001::1', '2002:7f00:1::', '3fff::1', '100::1', '5f00::1'],
  // IPv4 addresses within IPv6 addresses, in every notation.
  ...['::ffff:127.0.0.1', '::ffff:7f00:1', '0:0:0:0:0:ffff:10.0.0.1', '::FFFF:192.168.1.1'],
  ...['64:ff9b::7f00:1', '64:ff9b::10.0.0.1', '64:ff9b:1::1.1.1.1'],
  // Not valid IP addresses.
  ...['', 'localhost', '127.1', '0x7f.0.0.1', '2130706433'],
]

test('only public addresses are allowed by default', () => {
  const isAllowed = createAddressFilter([])
  for (const address of PUBLIC) assert.ok(isAllowed(address), address)
  for (const address of ['::ffff:1.1.1.1', '64:ff9b::1.1.1.1', '64:ff9b::808:808'])
    assert.ok(isAllowed(address), address)
  for (const address of NOT_PUBLIC) assert.ok(!isAllowed(address), address)
})

test('configured networks are allowed, other private addresses are not', () => {
  const isAllowed = createAddressFilter(['10.1.0.0/16', '127.0.0.1', 'fd00::/8'])
  for (const address of ['10.1.2.3', '127.0.0.1', '::ffff:10.1.2.3', '::ffff:7f00:1', 'fd00::7'])
    assert.ok(isAllowed(address), address)
  for (const address of ['10.2.0.1', '127.0.0.2', '::1', 'fc00::1', '169.254.169.254'])
    assert.ok(!isAllowed(address), address)
})
