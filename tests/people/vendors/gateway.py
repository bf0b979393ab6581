"""A gateway of SMS and phone: takes JSON with numbers and a text, and says in a field how it went."""

from tests.people.vendors.server import Answer, Asked, Vendor


class Gateway(Vendor):
    """HTTP 200 for everything; ``Code`` is ``OK`` or what was wrong."""

    @property
    def url(self) -> str:
        return f"{self.root}/send/t0ken-nobody-may-see"

    def judge(self, asked: Asked) -> Answer:
        if asked.method == "GET":
            self.taken.append(asked)
            return 200, {}, {"Code": "OK"}
        said = asked.json
        if not said.get("to"):
            return 200, {}, {"Code": "isv.MOBILE_NUMBER_ILLEGAL"}
        if len(said["text"]) > 70:
            return 200, {}, {"Code": "isv.TOO_LONG"}
        self.taken.append(asked)
        return 200, {}, {"Code": "OK", "Results": [{"Code": "OK"}]}
