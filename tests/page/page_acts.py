"""The page's buttons, pressed by somebody who may operate, and what one sees who may only look.

The port has tokens; what was done is read from PostgreSQL as well.
"""

import json
import urllib.error
import urllib.request

from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

LOOK = 'grafana-0123456789'
OPERATE = 'alice-0123456789'
REASON = 'the limit was wrong'


class Acts:
    def __init__(self, page, base, produce, query):
        self.page, self.base, self.produce, self.query = page, base, produce, query

    def post(self, path, headers, body=None):
        asked = urllib.request.Request(
            self.base + 'api/' + path, json.dumps(body or {}).encode(),
            {'Content-Type': 'application/json', **headers})
        try:
            with urllib.request.urlopen(asked) as answer:
                return answer.status
        except urllib.error.HTTPError as error:
            return error.code

    def buttons(self):
        return [one.text for one in self.page.all('main button') if one.text.endswith('…')]

    def press(self, text):
        self.page.wait(lambda: any(one.text == text for one in self.page.all('main button')))
        next(one for one in self.page.all('main button') if one.text == text).click()

    def tab_to(self, wanted):
        """By the Tab key alone, from where the focus is."""
        for _ in range(80):
            one = self.page.driver.switch_to.active_element
            if wanted(one):
                return one
            one.send_keys(Keys.TAB)
        raise AssertionError('Tab does not lead there')

    def sign_in(self, token):
        self.page.driver.execute_script('sessionStorage.clear()')
        self.page.driver.refresh()
        self.page.wait('Token')
        self.page.judge('sign in')
        box = self.tab_to(lambda one: one.get_attribute('type') == 'password')
        box.send_keys(token + Keys.ENTER)

    def dialog(self):
        return next(one for one in self.page.all('dialog') if one.is_displayed())

    def in_dialog(self, text):
        return next(one for one in self.dialog().find_elements(By.TAG_NAME, 'button')
                    if one.text == text)

    def answer(self, text):
        self.page.wait(lambda: any(text in one.text for one in self.page.all('dialog[open]')))

    def audit(self, act):
        return self.query("SELECT who, role, way, target, reason, outcome FROM onceward.audit_log "
                          f"WHERE act = '{act}' ORDER BY entry")


def letters(acts):
    """Three that a limit refused, which is lifted then, and one that stays refused."""
    acts.query('ALTER TABLE refunds ADD CONSTRAINT few CHECK (amount < 1000)')
    acts.produce('refunds', [{'id': f'big-{n}', 'amount': 5000} for n in range(1, 4)])
    acts.page.wait(lambda: acts.query(
        "SELECT count(*) FROM onceward.dead_letters WHERE sqlstate = '23514'") == ['3'])
    acts.query('ALTER TABLE refunds DROP CONSTRAINT few')


def of_refused_ones(acts):
    """The view of the letters that the limit refused."""
    page = acts.page
    page.wait('By cause')
    page.wait(lambda: '23514' in page.text())
    row = next(one for one in page.all('tbody tr') if '23514' in one.text)
    row.find_element(By.CSS_SELECTOR, 'td[data-label=Reason] a').click()


def who_looks(acts):
    page = acts.page
    page.base = acts.base
    page.refusals = True  # the browser writes each 401 to its console
    page.go('letters')
    page.wait('Token')
    acts.sign_in('a-wrong-token-0123')
    page.wait('The token that was given is not known here.')
    acts.sign_in(LOOK)
    page.wait('By cause')
    page.wait('Role: look (grafana)')
    page.all('.letter-head')[0].click()
    page.wait('Payload')
    assert acts.buttons() == [], acts.buttons()
    page.judge('letters of one who looks')
    page.go('partitions?topic=refunds')
    page.wait('refunds')
    assert acts.buttons() == [], acts.buttons()


def who_is_refused(acts):
    body = {'topic': 'refunds', 'dry_run': False, 'reason': REASON}
    alice = {'Authorization': 'Bearer ' + OPERATE}
    mine = {'Onceward-Act': '1'}
    for what, headers, status in (
            ('no token', mine, 401),
            ('may only look', {'Authorization': 'Bearer ' + LOOK, **mine}, 403),
            ('without the header that no form can send', alice, 403),
            ('said to be another site', {**alice, **mine, 'Sec-Fetch-Site': 'cross-site'}, 403)):
        for act in ('dlq/redrive', 'dlq/discard'):
            got = acts.post(act, headers, body)
            assert got == status, f'{act}, {what}: {got}'
    # A proxy that ends TLS may write another name in `Host`. A browser never adds a token itself.
    proxied = {**alice, **mine, 'Origin': 'https://onceward.example'}
    for more in ({}, {'Host': 'onceward.example'}):
        got = acts.post('dlq/discard', {**proxied, **more}, {'topic': 'refunds'})
        assert got == 200, f'through a proxy, {more}: {got}'
    assert acts.audit('dlq redrive') == acts.audit('dlq discard') == []


def redrive(acts):
    page = acts.page
    page.go('letters')
    acts.sign_in(OPERATE)
    page.wait('Role: operate (alice)')
    of_refused_ones(acts)
    page.wait(lambda: len(page.all('.letter')) == 3)
    acts.press('Redrive all of these …')
    send = acts.in_dialog('Redrive dead letters')
    assert not send.is_enabled() and not acts.in_dialog('Try it first').is_enabled(), 'no reason'
    reason = acts.dialog().find_element(By.CSS_SELECTOR, 'input:not([type=number])')
    reason.send_keys(REASON)
    assert not send.is_enabled(), 'nothing was tried'
    most = acts.dialog().find_element(By.CSS_SELECTOR, 'input[type=number]')
    most.send_keys(Keys.CONTROL + 'a')
    most.send_keys('2')
    acts.in_dialog('Try it first').click()
    acts.answer('2 dead letters would be sent.')
    assert acts.query("SELECT count(*) FROM refunds WHERE id LIKE 'big-%'") == ['0']
    page.state('redrive')
    # Another bound than was tried has to be tried as well.
    most.send_keys(Keys.CONTROL + 'a')
    most.send_keys('3')
    assert not send.is_enabled(), 'tried with another bound'
    most.send_keys(Keys.CONTROL + 'a')
    most.send_keys('2')
    acts.in_dialog('Try it first').click()
    acts.answer('2 dead letters would be sent.')
    send.click()
    acts.answer('2 dead letters sent.')
    acts.in_dialog('Close').click()
    page.wait(lambda: acts.query("SELECT count(*) FROM refunds WHERE id LIKE 'big-%'") == ['2'])
    page.wait(lambda: len(page.all('.letter')) == 1)
    assert acts.audit('dlq redrive') == [
        f'alice|operate|admin port|billing/refunds|{REASON}|{outcome}'
        for outcome in ('began', 'done')], acts.audit('dlq redrive')


def discard(acts):
    """With the keyboard alone, on a telephone's width."""
    page = acts.page
    page.size(380, 820)
    page.driver.execute_script('document.activeElement.blur(); scrollTo(0, 0)')
    head = acts.tab_to(lambda one: one.get_attribute('class') == 'letter-head')
    head.send_keys(Keys.ENTER)
    acts.tab_to(lambda one: one.text == 'Discard …').send_keys(Keys.ENTER)
    box = page.driver.switch_to.active_element
    assert box.tag_name == 'input', 'the reason is asked first: ' + box.get_attribute('outerHTML')
    box.send_keys('a test' + Keys.ENTER)
    acts.answer('1 dead letter would be discarded.')
    page.shot('narrow-discard')
    page.judge('narrow dialog')
    acts.tab_to(lambda one: one.text == 'Discard dead letters').send_keys(Keys.ENTER)
    acts.answer('1 discarded.')
    page.driver.switch_to.active_element.send_keys(Keys.ESCAPE)
    page.wait('None is open.')
    page.judge('narrow, discarded')
    page.size(1180, 820)
    assert acts.query('SELECT topic, reason FROM onceward.discarded_dead_letters') == [
        'refunds|a test']
    assert acts.audit('dlq discard') == ['alice|operate|admin port|billing/refunds|a test|done']


def discard_what_was_tried(acts):
    """A letter that arrives after the trial stays, and one that is resolved then is told."""
    page = acts.page

    def still_open():
        return acts.query("SELECT dead_letter FROM onceward.dead_letters WHERE sqlstate = '23514' "
                          'AND resolved_at IS NULL ORDER BY dead_letter')

    acts.query('ALTER TABLE refunds ADD CONSTRAINT few CHECK (amount < 1000) NOT VALID')
    acts.produce('refunds', [{'id': f'late-{n}', 'amount': 5000} for n in (1, 2)])
    page.wait(lambda: len(still_open()) == 2)
    tried = still_open()
    page.go('letters')
    of_refused_ones(acts)
    page.wait(lambda: len(page.all('.letter')) == 2)
    acts.press('Discard all of these …')
    acts.dialog().find_element(By.CSS_SELECTOR, 'input:not([type=number])').send_keys('tried')
    acts.in_dialog('Try it first').click()
    acts.answer('2 dead letters would be discarded.')
    acts.produce('refunds', [{'id': 'late-3', 'amount': 5000}])
    page.wait(lambda: len(still_open()) == 3)
    late = [number for number in still_open() if number not in tried]
    acts.query('UPDATE onceward.dead_letters SET resolved_at = now() '
               f'WHERE dead_letter = {tried[0]}')
    acts.in_dialog('Discard dead letters').click()
    acts.answer('1 discarded. 1 is no longer open.')
    assert still_open() == late, (tried, late, still_open())
    acts.in_dialog('Close').click()
    acts.press('Discard all of these …')
    assert not acts.in_dialog('Discard dead letters').is_enabled(), 'the late one was not tried'
    acts.in_dialog('Close').click()
    acts.query('ALTER TABLE refunds DROP CONSTRAINT few')


def pause_and_forget(acts):
    page = acts.page
    page.go('partitions?topic=refunds')
    for button, title, said in (('Pause …', 'Pause the topic', 'The topic is paused.'),
                                ('Resume …', 'Resume the topic', 'The topic continues.')):
        acts.press(button)
        acts.dialog().find_element(By.TAG_NAME, 'input').send_keys('an index')
        acts.in_dialog(title).click()
        acts.answer(said)
        acts.in_dialog('Close').click()
    # Which of the three were sent again depends on the order in which two workers refused them.
    page.go('key?key=' + acts.query("SELECT min(id) FROM refunds WHERE id LIKE 'big-%'")[0])
    page.wait('Another message with this key will be a duplicate.')
    acts.press('Forget …')
    acts.dialog().find_element(By.TAG_NAME, 'input').send_keys('again')
    acts.in_dialog('Try it first').click()
    acts.answer('1 claim to take out.')
    acts.in_dialog('Forget the key').click()
    acts.answer('1 claim taken out.')
    acts.in_dialog('Close').click()
    page.wait('Taken out of ledger')
    page.judge('a forgotten key')
    assert [acts.audit(act) for act in ('pause', 'resume', 'forget')] == [
        ['alice|operate|admin port|billing/refunds|an index|done'],
        ['alice|operate|admin port|billing/refunds|an index|done'],
        ['alice|operate|admin port|ledger billing/refunds|again|done']]


def log(acts):
    page = acts.page
    page.go('acts')
    page.wait('From the audit log.')
    page.wait(REASON)
    page.wait('dlq redrive began')
    for act in ('dlq redrive', 'dlq discard', 'pause', 'resume', 'forget'):
        assert act in page.text(), act
    page.state('acts')


def press_all(page, base, produce, query):
    acts = Acts(page, base, produce, query)
    for step in (letters, who_looks, who_is_refused, redrive, discard, discard_what_was_tried,
                 pause_and_forget, log):
        step(acts)
    page.check_logs()
    page.refusals = False
