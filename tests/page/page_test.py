"""The page as a reader sees it, step by step, from a healthy group to one with faults.

Writes a picture of each state into docs/images, and prints what was measured. Any error on the
console, any request to another place, any finding of axe, and a heavy page fail it. The buttons
are pressed by page_acts.py.
"""

import argparse
import io
import json
import os
import subprocess
import sys
import time
import urllib.request

from PIL import Image
from selenium import webdriver
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.ui import WebDriverWait

import page_acts

PATIENCE = 90
MOST_BYTES = 150_000
IMAGES = os.path.join(os.path.dirname(__file__), '..', '..', 'docs', 'images')
RULES = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice']


def arguments():
    parser = argparse.ArgumentParser()
    for name in ('ports', 'axe', 'program', 'work', 'psql'):
        parser.add_argument('--' + name, required=True)
    return parser.parse_args()


GIVEN = arguments()
# Two workers without tokens, and a front door where somebody may act.
BASES = [f'http://127.0.0.1:{port}/' for port in GIVEN.ports.split(',')]
WRITABLE = BASES[-1]
BASE = BASES[0]


def browser():
    options = webdriver.ChromeOptions()
    options.binary_location = '/usr/bin/chromium'
    for argument in ('headless=new', 'no-sandbox', 'disable-gpu', 'disable-quic', 'no-first-run',
                     'disable-background-networking', 'disable-component-update', 'disable-sync',
                     'hide-scrollbars', f'user-data-dir={GIVEN.work}/chromium'):
        options.add_argument('--' + argument)
    options.set_capability('goog:loggingPrefs', {'browser': 'ALL', 'performance': 'ALL'})
    return webdriver.Chrome(service=Service('/usr/bin/chromedriver'), options=options)


class Page:
    def __init__(self):
        self.driver = browser()
        self.base = BASE
        self.refusals = False  # whether 401 is expected
        self.axe = open(GIVEN.axe).read()
        self.findings = []
        self.passed = 0
        self.views = 0
        self.size(1180, 820)

    def size(self, width, height):
        self.driver.execute_cdp_cmd('Emulation.setDeviceMetricsOverride', {
            'width': width, 'height': height, 'deviceScaleFactor': 1, 'mobile': False})

    def dark(self, on):
        self.driver.execute_cdp_cmd('Emulation.setEmulatedMedia', {'features': [
            {'name': 'prefers-color-scheme', 'value': 'dark' if on else 'light'}]})

    def go(self, route):
        self.driver.get(self.base + '#/' + route)

    def all(self, selector):
        return self.driver.find_elements(By.CSS_SELECTOR, selector)

    def text(self):
        return self.driver.find_element(By.TAG_NAME, 'body').text

    def wait(self, what):
        """Until the page's text has it, or the function says so."""
        found = what if callable(what) else lambda: what in self.text()
        try:
            WebDriverWait(self.driver, PATIENCE, 0.1).until(lambda _: found())
        except Exception as error:
            self.shot('failed')
            raise AssertionError(f'not seen: {what}; the page has:\n{self.text()}') from error

    def shot(self, name):
        image = Image.open(io.BytesIO(self.driver.get_screenshot_as_png())).convert('RGB')
        folder = GIVEN.work if name == 'failed' else IMAGES
        os.makedirs(folder, exist_ok=True)
        image.quantize(256).save(os.path.join(folder, f'page-{name}.png'), optimize=True)

    def judge(self, name):
        """What axe finds, whether the page is wider than its window, and what the console has."""
        self.driver.execute_script(self.axe)
        found = self.driver.execute_async_script('''
            const [rules, done] = arguments;
            axe.run(document, {runOnly: rules}).then(done, (error) => done({error: `${error}`}));
            ''', RULES)
        assert 'error' not in found, found
        self.passed += len(found['passes'])
        self.views += 1
        for violation in found['violations']:
            self.findings.append((name, violation['id'], violation['impact'],
                                  [node['html'][:160] for node in violation['nodes'][:3]]))
        wide = self.driver.execute_script(
            'return document.documentElement.scrollWidth - document.documentElement.clientWidth')
        if wide > 0:
            self.shot('failed')
        assert wide <= 0, f'{name}: {wide} pixels wider than the window'
        self.check_logs()

    def check_logs(self):
        for entry in self.driver.get_log('browser'):
            expected = self.refusals and 'status of 401' in entry['message']
            assert expected or entry['level'] not in ('SEVERE', 'WARNING'), entry
        for entry in self.driver.get_log('performance'):
            message = json.loads(entry['message'])['message']
            if message['method'] == 'Network.requestWillBeSent':
                url = message['params']['request']['url']
                # The browser's own first page is at `chrome://`, which no other page can ask.
                mine = url.startswith((*BASES, 'data:', 'chrome://', 'chrome-untrusted://'))
                assert mine, f'a request to another place: {url}'

    def state(self, name):
        self.shot(name)
        self.judge(name)


def produce(topic, records):
    subprocess.run([GIVEN.program, 'produce', '-t', topic, '-b', os.environ['KAFKA_SERVERS'],
                    '--key-field', 'id'], text=True, check=True, stdout=subprocess.DEVNULL,
                   input=''.join(json.dumps(record) + '\n' for record in records))


def sql(text):
    done = subprocess.run([GIVEN.psql, '-qtAX', '-v', 'ON_ERROR_STOP=1', os.environ['dsn'], '-c',
                           text], check=True, stdout=subprocess.PIPE, text=True)
    return done.stdout.splitlines()


def asked(path, base=BASE):
    with urllib.request.urlopen(base + 'api/' + path) as answer:
        return json.load(answer)


def headers_are_strict():
    with urllib.request.urlopen(BASE) as answer:
        policy = answer.headers['Content-Security-Policy']
        assert "default-src 'none'" in policy and 'unsafe' not in policy, policy
        assert answer.headers['X-Content-Type-Options'] == 'nosniff', answer.headers


def healthy(page):
    page.go('overview')
    page.wait('Everything that arrives is applied')
    page.wait(lambda: len(page.all('canvas')) == 2)
    # A sample is taken every ten seconds; a few of them are a line.
    page.wait(lambda: len(asked('overview')['history']) >= 6)
    page.driver.refresh()
    page.wait(lambda: len(page.all('canvas')) == 2)
    page.state('healthy')


def weigh(page):
    """The bytes of a first visit, as they are sent."""
    page.driver.execute_cdp_cmd('Network.clearBrowserCache', {})
    page.driver.refresh()
    page.wait('Topics')
    sizes = page.driver.execute_script('''return [...performance.getEntriesByType('navigation'),
        ...performance.getEntriesByType('resource')].map((one) => [one.name, one.encodedBodySize]);
        ''')
    files = {name.split('#')[0]: size for name, size in sizes if '/api/' not in name}
    assert len(files) > 10 and min(files.values()) > 0, files
    total = sum(files.values())
    assert total <= MOST_BYTES, files
    return f'{total:,} bytes in {len(files)} files'


def keyboard(page):
    page.driver.find_element(By.TAG_NAME, 'body').send_keys('/')
    box = page.driver.switch_to.active_element
    assert box.get_attribute('aria-label') == 'Idempotency key', box.get_attribute('outerHTML')
    box.send_keys('pay-00007' + Keys.ENTER)


def key_found(page):
    page.wait('Another message with this key will be a duplicate.')
    page.wait('in the transaction of the claim')
    # Of a batch in two partitions it is one claim too.
    assert page.text().count('in the transaction of the claim') == 1, page.text()
    assert 'key=pay-00007' in page.driver.current_url, page.driver.current_url
    page.state('key-found')


def key_not_found(page):
    page.go('key?key=pay-99999999')
    page.wait('Its key is free')
    page.state('key-not-found')


def a_reader_of_a_fleet(page):
    """One process shows the partitions of both, with their lag."""
    page.go('partitions?topic=payments')
    page.wait('this process')
    owners = {cell.text.split('/')[0] for cell in page.all('td[data-label=Owner] code')}
    assert len(owners) == 2, owners
    lags = [cell.text for cell in page.all('td[data-label=Lag]')]
    assert len(lags) == 4 and '–' not in lags, lags


def dead_letters(page):
    produce('refunds', [{'id': f'r-{n}', 'amount': 'twelve'} for n in range(1, 8)])
    produce('refunds', [{'id': f'r-{n}'} for n in range(8, 11)])
    page.go('letters')
    page.wait('By cause')
    page.wait(lambda: len(page.all('.letter')) == 10)
    page.all('.letter-head')[-1].click()
    page.wait('"amount": "twelve"')
    page.state('dead-letters')
    page.go('key?key=r-1')
    page.wait('Not applied: it is a dead letter')
    page.judge('key with a dead letter')
    page.all('.hops a[href*=number]')[0].click()
    page.wait(lambda: len(page.all('.letter')) == 1)
    page.judge('one dead letter')


def halted(page):
    sql('ALTER TABLE orders RENAME TO orders_away')
    produce('orders', [{'id': f'o-{n}', 'amount': n} for n in range(1, 40)])

    def halts(base):
        return [one for one in asked('partitions', base)['partitions'] if 'halted' in one]

    workers = [base for base in BASES if base != WRITABLE]
    page.wait(lambda: any(halts(base) for base in workers))
    # A process that has none of them sees that they stand still.
    others = [base for base in workers if not halts(base)]
    if others:
        page.base = others[0]
        page.go('overview')
        page.wait('of another process')
        page.judge('halted elsewhere')
    page.base = next(base for base in workers if halts(base))
    page.go('overview')
    page.wait('halted')
    page.wait('Next:')
    page.wait(lambda: len(page.all('canvas')) == 2)
    # The first rates of this process's page come with its second answer.
    page.wait(lambda: '…' not in [cell.text for cell in page.all('td')])
    page.state('halted')
    page.go('partitions?topic=orders')
    page.wait('halted: failed')
    page.state('partitions')


def other_views(page):
    for route, text in (('ledgers', 'billing/payments'), ('rebalances', 'got'),
                        ('acts', 'migrate up'), ('configuration', 'not shown'),
                        ('partitions', 'this process'), ('nothing', 'no such view')):
        page.go(route)
        page.wait(text)
        page.judge(route)
        assert os.environ['dsn'] not in page.driver.page_source


def dark_and_narrow(page):
    page.dark(True)
    page.go('overview')
    page.wait('halted')
    page.wait(lambda: len(page.all('canvas')) == 2)
    page.state('dark')
    page.go('letters')
    page.wait('By cause')
    page.judge('dark letters')
    page.dark(False)
    page.size(380, 820)
    for route, name, text in (('overview', 'narrow', 'halted'),
                              ('letters', 'narrow letters', 'By cause'),
                              ('key?key=pay-00007', 'narrow key', 'duplicate'),
                              ('partitions', 'narrow partitions', 'this process'),
                              ('ledgers', 'narrow ledgers', 'billing/payments'),
                              ('configuration', 'narrow configuration', 'not shown')):
        page.go(route)
        page.wait(text)
        if name == 'narrow':
            page.shot(name)
        page.judge(name)
    page.size(1180, 820)


def hidden_asks_nothing(page):
    page.go('overview')
    page.driver.refresh()
    page.wait('Topics')
    page.driver.execute_script('''
        Object.defineProperty(document, 'hidden', {get: () => window.unseen});
        window.unseen = true; document.dispatchEvent(new Event('visibilitychange'));''')
    resources = 'return performance.getEntriesByType("resource").length'
    time.sleep(3)  # what was under way ends
    before = page.driver.execute_script(resources)
    time.sleep(5)
    more = page.driver.execute_script(resources) - before
    assert more == 0, f'{more} questions of a page that nobody sees'
    page.driver.execute_script(
        'window.unseen = false; document.dispatchEvent(new Event("visibilitychange"));')
    page.wait(lambda: page.driver.execute_script(resources) > before)


def main():
    page = Page()
    try:
        headers_are_strict()
        healthy(page)
        weight = weigh(page)
        for step in (keyboard, key_found, key_not_found, a_reader_of_a_fleet, dead_letters, halted,
                     other_views, dark_and_narrow, hidden_asks_nothing):
            step(page)
        page_acts.press_all(page, WRITABLE, produce, sql)
        for finding in page.findings:
            print('axe:', *finding, file=sys.stderr)
        assert not page.findings, f'{len(page.findings)} findings of axe'
        print(f'page: {weight}; axe: {page.passed} checks passed on {page.views} views, '
              'none failed; no error on the console, no request to another place')
    finally:
        page.driver.quit()


main()
