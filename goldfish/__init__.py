"""goldfish: does the memory behind a conversational AI lose, delay, mix up or leak what users said, under real load?"""
