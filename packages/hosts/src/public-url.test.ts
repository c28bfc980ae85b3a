import assert from 'node:assert/strict'
import { test } from 'node:test'
import { publicUrl, webPage } from './public-url.ts'

test('an address is published without credentials', () => {
  for (const [address, shown] of [
    ['https://github.com/a/b.git', 'https://github.com/a/b.git'],
    ['https://ada:secret@example.com/a.git', 'https://example.com/a.git'],
    ['https://ghp_token@example.com/a.git', 'https://example.com/a.git'],
    ['https://example.com/a.git?private_token=secret#secret', 'https://example.com/a.git'],
    ['ssh://git:secret@example.com:2222/a.git', 'ssh://git@example.com:2222/a.git'],
    ['git@example.com:a/b.git', 'ssh://git@example.com/a/b.git'],
    ['git://example.com/a.git', 'git://example.com/a.git'],
    ['/srv/git/a.git', null],
    ['../a.git', null],
    ['file:///srv/git/a.git', null],
    ['ext::sh -c secret', null],
    ['javascript:alert(1)', null],
    ['', null],
  ] as const) {
    assert.equal(publicUrl(address), shown, address)
  }
})

test('a web page has an http or https address that is a valid URI', () => {
  for (const [address, shown] of [
    ['https://example.com', 'https://example.com'],
    ['https://example.com/a%2fb?c=(d)', 'https://example.com/a%2fb?c=(d)'],
    ['http://[::1]:8080/', 'http://[::1]:8080/'],
    ['http://ada:secret@example.com/page?a=1#b', 'http://example.com/page?a=1#b'],
    ['https://example.com/ü?a=<b>', 'https://example.com/%C3%BC?a=%3Cb%3E'],
    ['https://example.com/?a=[{"|`^\\"}]', 'https://example.com/?a=%5B%7B%22%7C%60%5E%5C%22%7D%5D'],
    ['https://example.com/100%?b=%x#c#d', 'https://example.com/100%25?b=%25x#c%23d'],
    ['https://a{b}/', null],
    ['javascript:alert(1)', null],
    ['git@example.com:a/b.git', null],
    ['ssh://example.com/a.git', null],
    ['example.com', null],
    ['', null],
  ] as const) {
    assert.equal(webPage(address), shown, address)
  }
})
